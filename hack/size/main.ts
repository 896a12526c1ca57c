// `npm run size -- [--circles] [COMMIT…]`: size of the sources of commits, side by side; HEAD when none is named.
// `npm run size -- --executed [FOLDER…]`: number of source files that one task runs in checkouts with installed packages;
// this one when none is named.
// `npm run size -- --draw SEED`: the first lines of 20 sources without their paths, for a reader who places each, and then the paths.
import { createHash } from 'node:crypto';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { execa } from 'execa';
import { executed, executedTable, type Executed } from './executed.ts';
import { isMeasured, measure, table, type Size, type SourceFile } from './measure.ts';

const cwd = import.meta.dirname;

/** Reads the measured files of a commit out of git's objects, without a work tree. */
async function filesOf(commit: string): Promise<SourceFile[]> {
  const listed = await execa('git', ['ls-tree', '-r', '-z', '--full-tree', commit], { cwd });
  const entries = listed.stdout
    .split('\0')
    .map((line) => /^100\d+ blob (?<id>\w+)\t(?<path>.*)$/u.exec(line)?.groups)
    .flatMap((groups) =>
      groups?.['id'] && groups['path'] && isMeasured(groups['path']) ? [{ id: groups['id'], path: groups['path'] }] : [],
    );
  const input = entries.map(({ id }) => `${id}\n`).join('');
  const { stdout } = await execa('git', ['cat-file', '--batch'], { cwd, input, encoding: 'buffer', maxBuffer: 2 ** 28 });
  let at = 0;
  return entries.map(({ path }) => {
    const end = stdout.indexOf(10, at);
    const length = Number(Buffer.from(stdout.subarray(at, end)).toString().split(' ')[2]);
    at = end + 1 + length + 1;
    return { path, text: Buffer.from(stdout.subarray(end + 1, end + 1 + length)).toString() };
  });
}

/** Measures the code that one task runs, in one checkout after the other. */
async function printExecuted(folders: readonly string[]): Promise<void> {
  const columns = new Map<string, Executed>();
  for (const folder of folders) {
    const { stdout } = await execa('git', ['rev-parse', '--short', 'HEAD'], { cwd: folder });
    columns.set(`${stdout} (${basename(folder)})`, await executed(folder));
  }
  console.log(executedTable(columns));
}

/** Prints the sizes of commits. */
async function printSizes(commits: readonly string[], circles: boolean): Promise<void> {
  const columns = new Map<string, Size>();
  for (const commit of commits) {
    const { stdout } = await execa('git', ['rev-parse', '--short', commit], { cwd });
    columns.set(stdout, measure(await filesOf(commit)));
  }
  console.log(table(columns));
  if (!circles) return;
  for (const [commit, { fileCircles, folderCircles }] of columns) {
    for (const group of [...fileCircles, ...folderCircles]) console.log(`\n${commit}: ${group.join(' ')}`);
  }
}

/** Prints the beginnings of sources that a seed chooses. */
async function printDraw(seed: string): Promise<void> {
  const rank = ({ path }: SourceFile): string => createHash('sha256').update(`${seed} ${path}`).digest('hex');
  const drawn = (await filesOf('HEAD')).sort((a, b) => rank(a).localeCompare(rank(b))).slice(0, 20);
  for (const [at, { text }] of drawn.entries()) console.log(`## ${at + 1}\n\n${text.split('\n').slice(0, 30).join('\n')}\n`);
  console.log(`# Paths\n\n${drawn.map(({ path }, at) => `${at + 1}. ${path}`).join('\n')}`);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    circles: { type: 'boolean', default: false },
    executed: { type: 'boolean', default: false },
    draw: { type: 'string' },
  },
});
if (values.draw !== undefined) await printDraw(values.draw);
else if (values.executed) await printExecuted(positionals.length > 0 ? positionals.map((each) => resolve(each)) : [join(cwd, '..', '..')]);
else await printSizes(positionals.length > 0 ? positionals : ['HEAD'], values.circles);
