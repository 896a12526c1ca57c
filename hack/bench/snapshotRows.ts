import { benchSnapshots } from '@agentfleet/keeper/snapshot-bench';
import type { Row } from './table.ts';

/** Snapshot figures of ours and of git plumbing, on the same tree in the same run. */
export async function snapshotRows(files: number): Promise<readonly Row[]> {
  const { ours, git } = await benchSnapshots({ files, bytesPerFile: 4900 });
  const row = (name: string, mine: number, theirs: number): Row => ({
    measure: `snapshot of ${files.toLocaleString('en')} files: ${name}`,
    ours: mine,
    unit: 'ms',
    peer: { name: 'git plumbing', value: theirs },
  });
  return [
    row('first', ours.firstMs, git.firstMs),
    row('incremental (a few edits)', ours.incrementalMs, git.incrementalMs),
    row('nothing changed', ours.noopMs, git.noopMs),
    row('restore (a few edits), verified', ours.restoreMs, git.restoreMs),
  ];
}
