// node test.mjs PACKAGES FOLDER: bundles test/*.test.ts into FOLDER and runs them with node's own test runner.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const [packages, folder] = process.argv.slice(2).map((path) => resolve(path));
const here = dirname(fileURLToPath(import.meta.url));
const esbuild = createRequire(join(packages, "package.json"))("esbuild");
const tests = readdirSync(join(here, "test")).filter((name) => name.endsWith(".test.ts"));
mkdirSync(folder, { recursive: true });
await esbuild.build({
  entryPoints: tests.map((name) => join(here, "test", name)),
  bundle: true,
  platform: "node",
  format: "esm",
  outdir: folder,
  outExtension: { ".js": ".mjs" },
  logLevel: "warning",
});
const outputs = tests.map((name) => join(folder, name.replace(/\.ts$/, ".mjs")));
process.exit(spawnSync(process.execPath, ["--test", ...outputs], { stdio: "inherit" }).status ?? 1);
