// Time and proof of the solver on fleets like real ones and on random ones, which are harder.
//   node operator/bench/placement.ts
import { seededRandom } from '@agentfleet/kube/testing';
import { gibibyte, solve, type Item, type Problem, type Slot, type Traffic } from '../src/placement/index.ts';

function box(count: number): readonly Slot[] {
  return Array.from({ length: count }, (_, index) => ({ name: `n/gpu${index}`, node: 'n', usableBytes: 39.5 * gibibyte, healthy: true }));
}

function problemOf(slots: readonly Slot[], items: readonly Item[], traffic: readonly Traffic[]): Problem {
  const links = slots.flatMap((a, index) => slots.slice(index + 1).map((b) => ({ a: a.name, b: b.name, type: 'NV' as const })));
  return { slots, links, items, traffic, current: new Map(), nvlink: 'Preferred' };
}

/** A core, its specialists, verifier and small models, `fleets` times. */
function fleet(fleets: number, slots: number): Problem {
  const items: Item[] = [];
  const traffic: Traffic[] = [];
  for (let number = 0; number < fleets; number += 1) {
    const name = (part: string): string => `${part}-${number}`;
    const decode = { latency: 'Decode', rank: 'Specialist' } as const;
    items.push({ name: name('core'), bytes: 34 * gibibyte, latency: 'Decode', rank: 'Core' });
    for (const part of ['py', 'js', 'sh', 'edit']) items.push({ name: name(part), bytes: 8.5 * gibibyte, ...decode });
    items.push({ name: name('ebm'), bytes: 5 * gibibyte, latency: 'Score', rank: 'Verifier' });
    for (const part of ['hrm', 'embedder']) items.push({ name: name(part), bytes: 1.7 * gibibyte, latency: 'Tiny', rank: 'Planner' });
    for (const part of ['ebm', 'hrm']) traffic.push({ a: name('core'), b: name(part), weight: 0.1 });
  }
  return problemOf(box(slots), items, traffic);
}

function randomProblem(count: number, slots: number, random: () => number): Problem {
  const classes = ['Decode', 'Score', 'Tiny'] as const;
  const items = Array.from({ length: count }, (_, index): Item => ({
    name: `i${index}`,
    bytes: Math.floor((1 + random() * ((24 * slots) / count)) * gibibyte),
    latency: classes[Math.floor(random() * 3)] ?? 'Tiny',
    rank: 'Core',
  }));
  const traffic = items.flatMap((a, index) =>
    items.slice(index + 1).flatMap((b) => (random() < 0.15 ? [{ a: a.name, b: b.name, weight: random() }] : [])),
  );
  return problemOf(box(slots), items, traffic);
}

function row(name: string, problem: Problem): void {
  solve(problem);
  const times = Array.from({ length: 5 }, () => {
    const started = performance.now();
    solve(problem);
    return performance.now() - started;
  }).sort((a, b) => a - b);
  const solution = solve(problem);
  const gap = solution.score.total === 0 ? 0 : (solution.score.total - solution.bound) / solution.score.total;
  const proof = solution.proved ? 'proved' : `within ${(100 * gap).toFixed(1)} %`;
  console.log(
    `| ${name} | ${problem.items.length} × ${problem.slots.length} | ${times[2]?.toFixed(1)} ms | ${solution.steps} | ${proof} |`,
  );
}

console.log('| Problem | items × slots | median | steps | best |\n|---|---|---|---|---|');
row('one fleet', fleet(1, 4));
row('two fleets', fleet(2, 8));
const random = seededRandom(1);
for (const [count, slots] of [
  [8, 4],
  [12, 4],
  [16, 4],
  [16, 8],
] as const)
  for (let number = 1; number <= 2; number += 1) row(`random ${number}`, randomProblem(count, slots, random));
