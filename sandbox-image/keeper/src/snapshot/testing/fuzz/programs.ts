import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { sysPath } from '../../base/pathBytes.ts';
import { clear, staysInside } from '../treeOps.ts';

const LIMIT_MS = 60_000;

/** Runs a shell script with a directory of the tree as its working directory; its home is below `base`. */
function sh(base: string, cwd: string, script: string, args: readonly string[] = []): void {
  const env = {
    PATH: process.env['PATH'],
    HOME: `${base}/home`,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CEILING_DIRECTORIES: base,
    GIT_AUTHOR_NAME: 'fuzz',
    GIT_AUTHOR_EMAIL: 'fuzz@example.invalid',
    GIT_COMMITTER_NAME: 'fuzz',
    GIT_COMMITTER_EMAIL: 'fuzz@example.invalid',
  };
  // The directory as an argument: a working directory is text for Node, and names here are bytes.
  const enter = Buffer.from(`cd '${cwd.replaceAll("'", `'\\''`)}' || exit 0\n${script}`, 'latin1');
  spawnSync('/bin/sh', ['-s', '--', ...args], {
    input: enter,
    env,
    stdio: ['pipe', 'ignore', 'ignore'],
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  });
}

/** A directory at a path that nothing leads out of; null when there cannot be one. */
function directoryAt(base: string, at: string): string | null {
  if (!staysInside(base, at.slice(0, at.lastIndexOf('/')))) return null;
  const stat = fs.lstatSync(sysPath(at), { throwIfNoEntry: false });
  if (stat !== undefined && !stat.isDirectory()) clear(at);
  fs.mkdirSync(sysPath(at), { recursive: true });
  return at;
}

/** A repository in the tree: made, committed to, switched back and forth, with line endings that its attributes change. */
export function runGit(base: string, at: string, salt: number): void {
  const dir = directoryAt(base, at);
  if (dir === null || fs.lstatSync(sysPath(`${dir}/.git`), { throwIfNoEntry: false })?.isSymbolicLink() === true) return;
  const steps = [
    'git init -q --template= .; printf "* text=auto eol=crlf\\n" >.gitattributes; printf "one\\ntwo\\n" >g.txt; git add g.txt .gitattributes; git commit -qm first',
    'git checkout -q -b "b$1"; printf "three $1\\r\\n" >>g.txt; git commit -qam second; git checkout -q -',
    'git tag -f "t$1"; git stash -q; git gc -q; git checkout -q HEAD~1',
    'git mv g.txt moved.txt; git commit -qm moved; git worktree add -q nested "HEAD~1"',
  ];
  sh(base, dir, `${steps[0]}\n${steps[1 + (salt % 3)] ?? ''}`, [String(salt % 5)]);
}

/** Processes that write beside one another; all have ended, some by force, when this returns. */
export function runWriters(base: string, at: string, salt: number): void {
  const dir = directoryAt(base, at);
  if (dir === null) return;
  // Each writer is one process: a child of a killed shell would go on.
  const script = `
"$2" -e "$3" w1 & one=$!
"$2" -e "$3" w2 & two=$!
while [ ! -e w1.0 ] || [ ! -e w2.0 ]; do kill -0 $one && kill -0 $two || exit; done
i=0; while [ $i -lt $1 ]; do i=$((i + 1)); echo $i >>w3; chmod 600 w3; done
kill -9 $one $two; wait`;
  sh(base, dir, script, [String(5 + (salt % 30)), process.execPath, WRITER]);
}

/** Writes, renames and removes files for ever below its own names. */
const WRITER = `
const fs = require('node:fs');
const name = process.argv[1];
for (let n = 0; ; n++) {
  fs.writeFileSync(name + '.' + (n % 7), String(n).repeat(n % 50));
  fs.mkdirSync(name + '.d/' + (n % 5), { recursive: true });
  fs.appendFileSync(name + '.d/' + (n % 5) + '/f', 'x');
  if (n % 3 === 0) fs.renameSync(name + '.' + (n % 7), name + '.d/moved');
  if (n % 11 === 0) fs.rmSync(name + '.d/' + (n % 4), { recursive: true, force: true });
}`;

const MANIFEST = JSON.stringify({ name: 'fuzzed', version: '1.0.0', bin: { fuzzed: 'index.js' } });

/** Installs a local package by npm and, where there is Python, a wheel by pip; both without a network. */
export function installPackages(base: string, at: string): void {
  const dir = directoryAt(base, at);
  if (dir === null) return;
  const wheel = `
import zipfile
info = 'fuzzed-1.0.dist-info/'
with zipfile.ZipFile('fuzzed-1.0-py3-none-any.whl', 'w') as z:
    z.writestr('fuzzed/__init__.py', 'x = 1\\n')
    z.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: fuzzed\\nVersion: 1.0\\n')
    z.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: fuzz\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    z.writestr(info + 'RECORD', '')
`;
  const script = `
mkdir -p package && printf '%s' "$1" >package/package.json && printf '#!/usr/bin/env node\\n' >package/index.js && tar -czf fuzzed.tgz package
npm install --offline --no-audit --no-fund --ignore-scripts --no-update-notifier --cache "$HOME/.npm" ./fuzzed.tgz
python3 -c "$2" && python3 -m pip install -q --no-index --no-deps --disable-pip-version-check --target site ./fuzzed-1.0-py3-none-any.whl`;
  sh(base, dir, script, [MANIFEST, wheel]);
}
