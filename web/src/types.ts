// The parts of report.json that the page shows; docs/formats/report.md explains every key.
export interface IdleCauses { [cause: string]: number }
export interface TimeParts {
  window_ms: number;
  compute_ms: number;
  memcpy_ms: number;
  communication_exposed_ms: number;
  communication_overlapped_ms: number;
  idle_ms: number;
  idle_causes: IdleCauses;
}
export interface Evidence { text: string; value: number | null; unit: string; refs: string[] }
export interface Place {
  kind: string;
  name: string;
  file: string | null;
  line: number | null;
  rank: number | null;
  host: string | null;
  device: number | null;
}
export interface Gain {
  step_ms: number | null;
  step_low_ms: number | null;
  step_high_ms: number | null;
  speedup: number | null;
  memory_bytes: number | null;
  max_possible_speedup: number | null;
  basis: string;
}
export interface Finding {
  id: string;
  rule: string;
  title: string;
  severity: string;
  confidence: number;
  cost_ms_per_step: number | null;
  share_of_step: number | null;
  evidence: Evidence[];
  where: Place[];
  action: { title: string; detail: string; command: string; side_effects: string; not_when: string };
  gain: Gain;
}
export interface PlanStep {
  order: number;
  finding_id: string;
  rule: string;
  title: string;
  expected_step_ms: number | null;
  expected_step_low_ms: number | null;
  expected_step_high_ms: number | null;
  cumulative_speedup: number | null;
}
export interface Operator {
  name: string;
  dtype: string | null;
  count: number;
  self_cpu_ms: number;
  cpu_ms: number;
  self_device_ms: number;
  device_ms: number;
  shapes: { dims: string; dtype?: string | null; count: number; self_cpu_ms: number; cpu_ms: number; self_device_ms: number; device_ms: number }[] | null;
  flops: number | null;
}
export interface Kernel {
  name: string;
  short_name: string;
  count: number;
  total_ms: number;
  mean_us: number;
  min_us: number;
  max_us: number;
  share: number;
  tensor_core: boolean;
}
// Time by module, range or Python function.
export interface Scope {
  name: string;
  file: string | null;
  line: number | null;
  library: boolean;
  count: number;
  host_self_ms: number;
  host_ms: number;
  device_self_ms: number;
  device_ms: number;
  backward_device_ms: number | null;
}
export interface Note { code: string; severity: string; count: number; where: string; message: string; remedy: string }
export interface Step { index: number; rank: number | null; start_ns: number; duration_ms: number | null; complete: boolean; class: string }
export interface Report {
  tool: { name: string; version: string };
  time_origin_ns: string;
  inputs: { file: string; format: string; rank: number | null; bytes: number; events: number }[];
  job: {
    kind: string;
    world_size: number | null;
    ranks_missing?: number[];
    ranks: { rank: number | null; host: string | null; devices: { index: number; name: string | null; pci: string | null }[] }[];
    versions: Record<string, string>;
    environment: Record<string, string>;
  };
  verdict: { bound_by: string; sentence: string; confidence: number };
  health: { measure: string; value: number | null; bound: number; at_least: boolean; ok: boolean }[];
  utilisation: Record<string, number | string | null>;
  steps: Step[];
  step_time: {
    mean_ms: number | null;
    p50_ms: number | null;
    p95_ms: number | null;
    cv: number | null;
    count: number;
    source: string;
    paced_by: string;
    undisturbed_ms: number | null;
    undisturbed_low_ms: number | null;
    undisturbed_high_ms: number | null;
    outliers: { index: number; duration_ms: number }[];
    change_points: { index: number; duration_ms: number }[];
  };
  time_breakdown: TimeParts | null;
  time_breakdown_undisturbed: TimeParts | null;
  breakdown: { rank: number | null; device: number; measured: TimeParts; undisturbed: TimeParts }[];
  distortion: { model: string | null; cost_ms: number | null; by_kind: Record<string, number> };
  replay: { error: number | null; unexplained_share: number | null };
  findings: Finding[];
  plan: PlanStep[];
  operators: Operator[];
  kernels: Kernel[];
  modules?: Scope[];
  annotations?: Scope[];
  frames?: Scope[];
  kernel_summary: { per_step: number | null; mean_us: number | null; share_below_5us: number | null };
  notes: Note[];
  not_measured: { path: string; reason: string }[];
  [key: string]: unknown;
}

// What the program adds for the page: fixed words and the prose of rules, each in English and Chinese.
export type Pair = [string, string];
export interface About {
  language: "zh" | null;
  records: boolean; // single records stand behind the page
  perfetto: string | null; // file beside the page
  rank_trees: (number | null)[]; // ranks of a job whose call trees stand behind the page
  rank_reports: { rank: number | null; path: string }[]; // pages of the ranks of a job
  sentences: Record<string, string>; // Chinese for what the report says in English, where there is one
  labels: Record<string, Pair>;
  rules: Record<string, { title: Pair; meaning: Pair; how_we_know: Pair; what_to_do: Pair; when_wrong: Pair }>;
}

// The call tree as the program writes it: columns of equal length, parents before their children.
export interface CallTreeData {
  steps: number;
  nodes_summed: number;
  most_nodes: number;
  device_other_ns: number;
  kinds: string[];
  names: string[];
  short_names: Record<string, string>;
  parent: number[];
  name: number[];
  kind: number[];
  flags: number[];
  count: number[];
  host_self: number[];
  host_total: number[];
  device_self: number[];
  device_total: number[];
}
