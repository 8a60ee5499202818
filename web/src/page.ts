// What the views share.
import type { CallTree } from "./tree";
import type { About, Report } from "./types";

export interface Page {
  report: Report;
  about: About;
  tree: CallTree | null;
  selected: string | null;
  tables: () => HTMLElement;
  openDetails?: (kind: string, name: string) => void;
  overSteps?: (kind: string, name: string, into: HTMLElement) => void;
}
