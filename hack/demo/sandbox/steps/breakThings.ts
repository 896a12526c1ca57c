import type { SnapshotRecord } from '@agentfleet/protocol/keeper';
import type { Story } from './story.ts';
import { short } from './repair.ts';

const havoc =
  'cd /workspace && rm -rf .git stats.py && mkdir stats.py && chmod 000 test_stats.py && ln -s /etc/passwd link && ' +
  'echo "rm -rf /" > run.sh && chmod +x run.sh && mkdir -p deep/er && head -c 5000000 /dev/urandom > deep/er/junk && echo PATH= > ~/.profile';

/** Chapter 3: everything is wrecked, then restored and proved equal by the manifest hash. */
export async function breakThings(story: Story, good: SnapshotRecord): Promise<void> {
  story.chapter('3  Damage, and a restore that is proved');
  await story.shell(havoc);
  const { entries } = await story.client.diff(good.id);
  story.fact(`${entries.length} paths differ: ${count(entries.map((entry) => entry.op))}`);
  const report = await story.client.restore(good.id);
  const seen = `${report.created} created, ${report.modified} modified, ${report.deleted} deleted in ${report.tookMs.toFixed(0)} ms`;
  story.prove(`restored to ${good.id}, manifest hash equal`, report.verified && report.manifestDigest === good.manifestDigest, seen);
  story.fact(`expected ${short(report.expectedDigest)}, found ${short(report.manifestDigest)}`);
  const check = await story.shell('python3 test_stats.py');
  story.prove('the test passes again', check.end.exitCode === 0);
}

function count(ops: readonly string[]): string {
  const names: Record<string, string> = { A: 'added', M: 'modified', D: 'deleted', T: 'changed type' };
  return Object.entries(names)
    .map(([op, name]) => `${ops.filter((seen) => seen === op).length} ${name}`)
    .join(', ');
}
