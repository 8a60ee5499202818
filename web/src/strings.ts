// The words of the page that no other report needs, in English and Chinese; the others come with the data (labels.def).
import type { About, Pair } from "./types";

export type Language = "en" | "zh";

const kWords: Record<string, Pair> = {
  summary: ["Summary", "概览"],
  timeline: ["Timeline", "时间线"],
  raw: ["Raw data", "原始数据"],
  views: ["Views", "视图"],
  language: ["Language", "语言"],
  theme: ["Colours", "配色"],
  theme_auto: ["auto", "自动"],
  theme_light: ["light", "浅色"],
  theme_dark: ["dark", "深色"],
  events: ["events", "个事件"],
  steps_recorded: ["steps recorded", "步已采集"],
  rank: ["rank", "进程"],
  why_slow: ["Why it is slow", "为何慢"],
  next_steps: ["What to do", "怎么做"],
  expected_step: ["expected step", "预计步时"],
  now: ["now", "现在"],
  after: ["after", "之后"],
  copy: ["copy", "复制"],
  copied: ["copied", "已复制"],
  all_evidence: ["evidence and details", "证据与细节"],
  flame: ["Where the time was spent", "时间花在哪里"],
  flame_host: ["host time", "主机时间"],
  flame_device: ["device time", "设备时间"],
  show_folded: ["show library frames", "显示库内部帧"],
  search: ["search", "搜索"],
  heaviest: ["Three heaviest parts", "最重的三个部分"],
  of_recorded: ["as recorded, per step", "实测，每步"],
  root_host: ["all threads, {} of thread time a step", "所有线程，每步线程时间 {}"],
  root_device: ["all device work, {} a step", "全部设备工作，每步 {}"],
  flame_none: ["No call tree: the capture holds no complete step.", "没有调用树：采集中没有完整的步。"],
  flame_hint: ["Click a part to see it below; double-click or Enter zooms in, Escape zooms out, arrow keys move.", "单击查看详情；双击或回车放大，Esc 缩小，方向键移动。"],
  flame_rest: ["{} small parts are summed into \"other\": the tree keeps the {} with the largest share.", "{} 个小部分合并为 other：调用树保留占比最大的 {} 个。"],
  flame_sum: ["Device time here is the sum of kernel, copy and set durations; streams that overlap count each.", "此处设备时间为内核、拷贝、置零时长之和；流间重叠时各自计入。"],
  nothing_recorded: ["outside every record", "无任何记录"],
  main_thread: ["main thread", "主线程"],
  zoom_out: ["zoom out", "缩小"],
  details: ["Details", "详情"],
  details_hint: ["Select a part of the flame graph, a kernel or an operator.", "请选择火焰图的一部分、内核或算子。"],
  host_total: ["host, total", "主机总计"],
  host_self: ["host, self", "主机自身"],
  device_total: ["device, total", "设备总计"],
  device_self: ["device, self", "设备自身"],
  transfer: ["transfer", "传输"],
  wait: ["waits for the device", "等待设备"],
  calls: ["calls", "次数"],
  called_by: ["Called by", "调用者"],
  calls_what: ["Inside it", "内部"],
  shapes: ["Shapes", "形状"],
  types: ["types", "类型"],
  over_steps: ["Over the steps", "逐步变化"],
  close: ["close", "关闭"],
  ladder: ["From busy to useful", "从忙碌到有效"],
  nvml: ["NVML utilisation", "NVML 利用率"],
  device_busy: ["device busy", "设备忙碌"],
  sm_active: ["SM active", "SM 活跃"],
  tensor_active: ["tensor cores active", "张量核心活跃"],
  mfu: ["MFU", "MFU"],
  trust: ["How far to trust this", "可信程度"],
  trust_lost: ["Lost or doubtful in the input", "输入中丢失或存疑"],
  trust_distortion: ["What the recording itself cost", "采集自身开销"],
  trust_missing: ["Not measured, and what would measure it", "未测量项及补救"],
  per_step_short: ["a step", "每步"],
  replay_error: ["Replaying the step unchanged gives it within", "原样重放该步的误差为"],
  name: ["name", "名称"],
  count: ["count", "次数"],
  total: ["total", "总计"],
  mean: ["mean", "平均"],
  min: ["shortest", "最短"],
  max: ["longest", "最长"],
  share: ["share", "占比"],
  self_cpu: ["self host", "主机自身"],
  cpu: ["host", "主机"],
  self_device: ["self device", "设备自身"],
  device_time: ["device", "设备"],
  show_all: ["show all {}", "显示全部 {} 项"],
  data: ["Tables", "表格"],
  raw_title: ["The recording", "原始记录"],
  raw_open: ["To see it in Perfetto, open ui.perfetto.dev in a browser, choose \"Open trace file\" and pick this file. Nothing is uploaded: Perfetto works in the browser.", "在浏览器打开 ui.perfetto.dev，选择 \"Open trace file\" 并选中该文件即可。数据不会上传：Perfetto 在浏览器内运行。"],
  raw_again: ["To make this report again", "重新生成本报告"],
  raw_size: ["size", "大小"],
  raw_format: ["format", "格式"],
  raw_versions: ["Versions and recording options", "版本与采集选项"],
  raw_report: ["All of report.json", "report.json 全文"],
  notices: ["Notices", "声明"],
  no_third_party: ["The page is part of accel-profiler, Apache License 2.0. It contains no code, fonts or images of others, and loads nothing.", "本页面属于 accel-profiler，Apache License 2.0；不含第三方代码、字体或图片，也不加载任何外部内容。"],
  what_means: ["what it means", "含义"],
  how_known: ["how it is known", "依据"],
  when_wrong: ["when it is wrong", "何时不成立"],
  memory_frees: ["frees memory", "释放显存"],
  step_source: ["steps found by", "步的识别"],
  loading: ["reading the records ...", "正在读取记录……"],
  timeline_none: ["This report holds no single records.", "本报告不含单条记录。"],
  timeline_thinned: ["Left out to keep this file small: {}.", "为控制文件大小而省略：{}。"],
  timeline_keys: ["w s zoom, a d move, drag to move, shift-drag or m to measure, f fits the selection, / searches, click selects.", "w s 缩放，a d 平移，拖动平移，Shift 拖动或 m 测量，f 适应所选，/ 搜索，单击选择。"],
  reset: ["whole recording", "全部"],
  measure_clear: ["clear measure", "清除测量"],
  found: ["{} of {}", "{} / {}"],
  found_none: ["nothing found", "未找到"],
  started_at: ["start", "开始"],
  lasted: ["duration", "时长"],
  launched_by: ["launched by", "由其启动"],
  launches: ["launches", "启动了"],
  record: ["Record", "记录"],
  idle_track: ["idle causes", "空闲原因"],
  in_step: ["step", "步"],
  other_parts: ["Everything else in report.json", "report.json 中的其余部分"],
  memory: ["Device memory", "设备显存"],
  memory_peak: ["peak, allocated", "峰值（已分配）"],
  memory_of_card: ["of the card's", "显卡总量"],
  memory_allocations: ["allocations", "分配次数"],
  memory_growth: ["grows", "增长"],
  memory_slack: ["reserved, not in use", "保留而未用"],
  memory_reached_by: ["peak reached by", "峰值来自"],
  memory_largest: ["Largest blocks alive at the peak", "峰值时最大的内存块"],
  memory_driver: ["The driver is asked {} times a step for memory and {} times to free it: {} of host time.", "每步向驱动申请内存 {} 次、释放 {} 次：耗主机时间 {}。"],
  memory_parameters: ["parameters", "参数"],
  memory_gradients: ["gradients", "梯度"],
  memory_optimizer_state: ["optimizer state", "优化器状态"],
  memory_activations: ["activations", "激活"],
  memory_workspace: ["workspace", "临时空间"],
  memory_unknown: ["unknown", "未知"],
  memory_basis_life: ["(from where blocks begin and end)", "（由分配与释放位置得出）"],
  memory_basis_shapes: ["(from recorded shapes)", "（由记录的形状得出）"],
  memory_basis_assumed: ["(assumed from the optimizer)", "（由优化器推断）"],
  memory_basis_rest: ["(what is left)", "（剩余部分）"],
  memory_basis_none: ["(none)", "（无）"],
  python_frames: ["Python frames", "Python 帧"],
  left_out: ["{} host records shorter than {} (ranges and launches are all here)", "{} 条短于 {} 的主机记录（区间与启动均保留）"],
  rows_of: ["{} of {} rows", "{} / {} 行"],
  merged: ["{} records in this pixel", "此像素含 {} 条记录"],
  track: ["track", "轨道"],
  thread: ["thread", "线程"],
  stream: ["stream", "流"],
  allocated: ["memory allocated", "已分配显存"],
  reserved: ["memory reserved", "已保留显存"],
  dims: ["shapes", "形状"],
  strides: ["strides", "步长"],
  concrete: ["other inputs", "其他输入"],
  grid: ["grid", "网格"],
  block: ["block", "线程块"],
  registers: ["registers a thread", "每线程寄存器"],
  shared_memory: ["shared memory, bytes", "共享内存（字节）"],
  occupancy_percent: ["estimated occupancy, %", "估计占用率 %"],
  bytes: ["bytes", "字节"],
  direction: ["direction", "方向"],
  from: ["from", "来自"],
  to: ["to", "去往"],
  speed: ["speed", "速度"],
  class: ["class", "类别"],
  self_folded: ["self, with what is folded into it", "自身（含折叠部分）"],
  no_thinning: ["Every record of the trace is here.", "包含全部记录。"],
};

let language: Language = "en";
let labels: Record<string, Pair> = {};
let missingIsError = false;

export function setLanguage(to: Language): void {
  language = to;
}
export function currentLanguage(): Language {
  return language;
}
export function setLabels(about: About, strict = false): void {
  labels = about.labels;
  missingIsError = strict;
}
export function pick(pair: Pair): string {
  return language === "zh" && pair[1] !== "" ? pair[1] : pair[0];
}

// The word of the page, else of the reports, else the id itself.
export function say(id: string, ...values: (string | number)[]): string {
  const pair = kWords[id] ?? labels[id];
  if (!pair && missingIsError) throw new Error("no word for " + id);
  let text = pair ? pick(pair) : id;
  for (const value of values) text = text.replace("{}", () => String(value));
  return text;
}

export function words(): Record<string, Pair> {
  return kWords;
}
