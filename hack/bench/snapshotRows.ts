import { Program, setMetaByRunner, treeStatsByRunner, xattrsByRunner } from '@agentfleet/keeper/snapshot';
import { benchSnapshots } from '@agentfleet/keeper/snapshot-bench';
import { hostArch, runnerBinary } from '../images/index.ts';
import type { Row } from './report/table.ts';

/** Snapshot figures of ours and of git plumbing, on the same tree in the same run. */
export async function snapshotRows(files: number): Promise<readonly Row[]> {
  const { file } = await runnerBinary(hostArch());
  const runner = new Program(file);
  const programs = { setMeta: setMetaByRunner(runner), treeStats: treeStatsByRunner(runner), xattrs: xattrsByRunner(runner) };
  const { ours, git } = await benchSnapshots({ files, bytesPerFile: 4900, programs });
  const row = (name: string, mine: number, theirs: number, note: string): Row => ({
    measure: `snapshot of ${files.toLocaleString('en')} files: ${name}`,
    ours: mine,
    unit: 'ms',
    peer: { name: 'git plumbing', value: theirs },
    note,
  });
  return [
    row('first', ours.firstMs, git.firstMs, 'ours is on disk (fdatasync) when it counts, git is told not to sync'),
    row('incremental', ours.incrementalMs, git.incrementalMs, '5 files edited, 1 added, 1 removed'),
    row('incremental, processor time', ours.incrementalCpuMs, git.incrementalCpuMs, 'user and system, with that of processes started'),
    row('nothing changed', ours.noopMs, git.noopMs, ''),
    row('restore', ours.restoreMs, git.restoreMs, 'the same 7 changes taken back; ours verifies the whole tree, git does not'),
    row('restore, processor time', ours.restoreCpuMs, git.restoreCpuMs, ''),
  ];
}
