// node run.mjs PACKAGES PROGRAM SHARED CAPTURES...: opens the reports of real captures and of a hostile one in the
// system's Chromium, goes through all levels, and closes with "N passed, N failed, N skipped". SHARED holds the captures
// with a planted fault; tests of them are skipped without it.
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { accessible } from "./accessible.mjs";
import { comparisons } from "./compare.mjs";
import { firstScreens } from "./first_screen.mjs";
import { Harness } from "./harness.mjs";
import { hostileNames } from "./hostile.mjs";
import { severalRanks } from "./ranks.mjs";
import { reports } from "./reports.mjs";
import { runCurve } from "./run_curve.mjs";

const [packages, program, shared, ...captures] = process.argv.slice(2).map((path) => resolve(path));
const on = new Harness(packages, program);
try {
  await on.launch();
  await reports(on, captures);
  await accessible(on, captures[0]);
  await comparisons(on, captures[0], captures[1]);
  await severalRanks(on, captures[0]);
  await runCurve(on, captures[0], fileURLToPath(new URL("../golden/native/slow_loader-format_1.1.accel", import.meta.url)));
  await hostileNames(on, captures[0]);
  await firstScreens(on, shared);
} catch (error) {
  ++on.failed;
  console.log(error.stack);
} finally {
  await on.close();
}
console.log(`${on.passed} passed, ${on.failed} failed, ${on.skipped} skipped`);
process.exit(on.failed ? 1 : 0);
