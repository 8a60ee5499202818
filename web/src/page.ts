// What the views share.
import type { Records } from "./records";
import type { CallTree } from "./tree";
import type { About, Report } from "./types";

export interface Page {
  report: Report;
  about: About;
  tree: CallTree | null;
  treeBefore: CallTree | null; // of a comparison's first run
  rankOfTree?: number; // of a job: which of about.rank_trees `tree` is
  selected: string | null;
  tables: () => HTMLElement;
  records: () => Promise<Records | null>; // read when first asked for
  openDetails?: (kind: string, name: string) => void;
}
