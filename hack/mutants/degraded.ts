import type { Mutant } from './mutants.ts';

const controller = 'operator/src/controllers/placement';
const test: Mutant['test'] = { kind: 'vitest', path: `${controller}/degraded.test.ts` };
const seating: Mutant['test'] = { kind: 'vitest', path: 'operator/src/controllers/expertpool/seating.test.ts' };
const seats: Mutant['test'] = { kind: 'vitest', path: 'operator/src/serving/seat.test.ts' };
const acknowledged: Mutant['test'] = { kind: 'vitest', path: `${controller}/acknowledged.test.ts` };

/** Of plans that go without something while a GPU is lost. */
export const degraded: readonly Mutant[] = [
  {
    guarantee: 'nothing is gone without to which nobody agreed',
    file: `${controller}/degraded.ts`,
    find: 'all?.has(to) === true;',
    replace: 'all?.has(to) !== undefined;',
    test,
  },
  {
    guarantee: 'nothing is gone without for another reason than a loss',
    file: `${controller}/giveWay.ts`,
    find: 'const least = hit && current',
    replace: 'const least = current',
    test,
  },
  {
    guarantee: 'of two plans the one that loses less is taken',
    file: `${controller}/degraded.ts`,
    find: 'if (mine !== theirs) return mine < theirs;',
    replace: 'if (mine !== theirs) return mine > theirs;',
    test,
  },
  {
    guarantee: 'a full plan waits until there has been room for long enough',
    file: `${controller}/giveWay.ts`,
    find: 'if (now < againAt) return',
    replace: 'if (now < 0) return',
    test,
  },
  {
    guarantee: 'the time for which there has been room is that of the status',
    file: `${controller}/degraded.ts`,
    find: 'known === undefined || Date.parse(known) > now ? second(now) : known;',
    replace: 'second(now);',
    test,
  },
  {
    guarantee: 'who lost his GPU goes back himself',
    file: `${controller}/giveWay.ts`,
    find: '(ends && theirs) || ',
    replace: '',
    test,
  },
  {
    guarantee: 'experts keep apart from a verifier that is placed after them',
    file: `${controller}/degraded.ts`,
    find: 'if (self.key !== verifier.key) return',
    replace: 'if (self.key !== pool.key) return true ||',
    test,
  },
  {
    guarantee: 'a GPU that shrank is not given to more than it holds',
    file: `${controller}/shrunk.ts`,
    find: 'if (assignment.bytes > left) out.add(assignment);',
    replace: 'if (assignment.bytes < 0) out.add(assignment);',
    test,
  },
  {
    guarantee: 'a verifier serves on CPU until it may start on its GPU',
    file: `${controller}/giveWay.ts`,
    find: "filter(({ mode }) => mode === 'CpuVerifier');",
    replace: "filter(({ mode }) => mode === 'NoDraft');",
    test,
  },
  {
    guarantee: 'an engine whose draft has no room runs without it',
    file: 'operator/src/controllers/expertpool/seating.ts',
    find: "seat.kind === 'Seated' && seat.withoutDraft === true ?",
    replace: "seat.kind !== 'Seated' && seat ?",
    test: seating,
  },
  {
    guarantee: 'the room of a draft is not given away while an engine has it',
    file: `${controller}/observe.ts`,
    find: "!== (withoutDraft === true)) return 'Absent';",
    replace: "!== (withoutDraft === true)) return 'Ready';",
    test: seating,
  },
  {
    guarantee: 'a verifier on CPU sees no GPU',
    file: 'operator/src/serving/seat.ts',
    find: 'spec: withoutAny(template.spec) }',
    replace: 'spec: template.spec }',
    test: seats,
  },
  {
    guarantee: 'a taint that is set anew is not one that was acknowledged',
    file: `${controller}/acknowledged.ts`,
    find: 'since === taint.timeAdded',
    replace: 'since !== taint.timeAdded || true',
    test: acknowledged,
  },
  {
    guarantee: 'a claim says which taints a human has acknowledged',
    file: `${controller}/claimNames.ts`,
    find: ' ? (slot.tolerated ?? []) : [];',
    replace: ' ? [] : [];',
    test: acknowledged,
  },
];
