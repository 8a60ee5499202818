// node build.mjs PACKAGES PAGE.cpp: checks the types, bundles src/ and writes the page as C++ source.
import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [packages, output] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(join(packages, "package.json"));
const esbuild = require("esbuild");

try {
  execFileSync(process.execPath, [require.resolve("typescript/bin/tsc"), "-p", join(here, "tsconfig.json")], { stdio: "inherit" });
} catch {
  process.exit(1);
}

async function bundle(entry) {
  const result = await esbuild.build({
    entryPoints: [join(here, "src", entry)],
    bundle: true,
    minify: true,
    charset: "utf8",
    format: "iife",
    target: ["es2021"],
    legalComments: "none",
    write: false,
    logLevel: "warning",
  });
  // A "</script" or "<!--" in the text would end the element that holds it.
  return result.outputFiles[0].text.trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
}

const digest = (text) => `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;
const script = await bundle("main.ts");
const style = await bundle("page.css");
const policy = `default-src 'none'; script-src ${digest(script)}; style-src ${digest(style)}; img-src data: blob:; base-uri 'none'; form-action 'none'`;
const head = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>accel-profiler report</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<div id="page"><noscript>This page needs JavaScript. The same content stands in report.md and report.json beside it.</noscript></div>
`;
const tail = `<script>${script}</script>\n`;

// String literals, so that the views below are constants and nothing runs at start-up.
function literal(name, text) {
  const bytes = Buffer.from(text, "utf8");
  let lines = "";
  for (let at = 0; at < bytes.length; at += 100) {
    let line = "";
    for (const byte of bytes.subarray(at, at + 100)) {
      const plain = byte >= 32 && byte < 127 && byte !== 34 && byte !== 92 && byte !== 63;
      line += plain ? String.fromCharCode(byte) : "\\" + byte.toString(8).padStart(3, "0");
    }
    lines += `  "${line}"\n`;
  }
  return `constexpr char k${name}Text[] =\n${lines};\n`;
}
const source = `// Made by web/build.mjs.
#include "report/html/page.h"

namespace accel::report {
namespace {
${literal("Head", head)}${literal("Tail", tail)}}  // namespace
constinit const std::string_view kPageHead(kHeadText, sizeof(kHeadText) - 1);
constinit const std::string_view kPageTail(kTailText, sizeof(kTailText) - 1);
}  // namespace accel::report
`;
mkdirSync(dirname(output), { recursive: true });
writeFileSync(output, source);
