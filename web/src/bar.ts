// View model of the bar: where a step's time goes. The parts add up to the whole window.
import type { TimeParts } from "./types";

export interface BarPart {
  id: string; // label of labels.def
  colour: string; // CSS variable
  ms: number;
  share: number;
  idle: boolean;
}

export function barParts(parts: TimeParts): BarPart[] {
  const whole = parts.window_ms;
  const list: BarPart[] = [];
  const add = (id: string, colour: string, ms: number, idle: boolean) => {
    if (ms > 0) list.push({ id, colour, ms, share: whole > 0 ? ms / whole : 0, idle });
  };
  add("compute", "--compute", parts.compute_ms, false);
  add("copies", "--copies", parts.memcpy_ms, false);
  add("communication_exposed", "--communication", parts.communication_exposed_ms, false);
  const causes = Object.entries(parts.idle_causes).sort((a, b) => b[1] - a[1]);
  for (const [cause, ms] of causes) add(cause, "--idle-" + cause.replaceAll("_", "-"), ms, true);
  return list;
}
