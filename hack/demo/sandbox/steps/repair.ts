import type { SnapshotRecord } from '@agentfleet/protocol/keeper';
import type { Story } from './story.ts';

const broken = `def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle] + ordered[middle + 1]) / 2
`;

const tests = `import unittest
from stats import median

class Median(unittest.TestCase):
    def test_odd(self): self.assertEqual(median([3, 1, 2]), 2)
    def test_even(self): self.assertEqual(median([4, 1, 3, 2]), 2.5)

unittest.main()
`;

/** Snapshots before and after the repair. */
export interface Repaired {
  readonly initial: SnapshotRecord;
  readonly fixed: SnapshotRecord;
}

/** Chapter 2: a small repository with a failing test is changed until the test passes. */
export async function repair(story: Story): Promise<Repaired> {
  story.chapter('2  Work: a failing test, a change, a passing test');
  await story.client.writeFile('/workspace/stats.py', broken);
  await story.client.writeFile('/workspace/test_stats.py', tests);
  await story.shell('cd /workspace && git init -q && git add -A && git -c user.name=demo -c user.email=demo@example.org commit -qm start');
  const initial = await story.client.takeSnapshot('initial');
  story.fact(`snapshot ${initial.id}: ${initial.entries} entries in ${initial.tookMs.toFixed(0)} ms, ${short(initial.manifestDigest)}`);
  const before = await story.shell('python3 test_stats.py');
  story.prove('the test fails at first', before.end.exitCode !== 0, lastLine(before.stderr));
  await story.client.writeFile('/workspace/stats.py', broken.replace('[middle + 1]', '[middle - 1]'));
  const after = await story.shell('python3 test_stats.py');
  story.prove('after the change it passes', after.end.exitCode === 0, lastLine(after.stderr));
  const fixed = await story.client.takeSnapshot('fixed');
  const { unified } = await story.client.diff(initial.id, fixed.id);
  for (const line of unified.split('\n').filter((text) => /^[-+] /.test(text))) story.fact(line);
  return { initial, fixed };
}

export function short(digest: string): string {
  return digest.slice(0, 19);
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? '';
}
