import type { Mutant } from './mutants.ts';

const worker = 'agent-image/src';
const vitest = (path: string): Mutant['test'] => ({ kind: 'vitest', path });
const mirror = vitest(`${worker}/shadow/mirror.test.ts`);
const mind = vitest(`${worker}/mind/shadow.test.ts`);
const tasks = vitest(`${worker}/tasks/shadow.test.ts`);
const machine = vitest('operator/src/rollout/rollout.test.ts');
const gates = vitest('operator/src/rollout/gates/shadow.test.ts');
const book = vitest('operator/src/revisions/shadow.test.ts');
const brief = vitest('operator/src/controllers/expertpool/manifests/shadow.test.ts');

/** Of copies that a revision in shadow gets. */
export const shadows: readonly Mutant[] = [
  {
    guarantee: 'the answer of a shadow is not used',
    file: `${worker}/tasks/factory.ts`,
    find: 'experts: mirroredExperts(experts.of(pool.experts), mirror),',
    replace:
      'experts: { ...experts.of(pool.experts), generate: (expert, request, end) => experts.of([]).generate(known.shadow?.experts[0] ?? expert, request, end) },',
    test: vitest('test/rollout/shadowedWorker.test.ts'),
  },
  {
    guarantee: 'nobody waits for a copy',
    file: `${worker}/mind/fleet.ts`,
    find: '    return answer;\n',
    replace:
      '    const told = () => (mirror as Mirror | undefined)?.counts;\n    while (told()?.answered !== told()?.asked) await new Promise((resolve) => setTimeout(resolve, 5));\n    return answer;\n',
    test: mind,
  },
  {
    guarantee: 'a copy is sent when the real answer is in use',
    file: `${worker}/shadow/mirror.ts`,
    find: 'if (!(await sleep(clock, 0, signal))) return;',
    replace: 'if (signal.aborted) await sleep(clock, 0, signal);',
    test: mirror,
  },
  {
    guarantee: 'a worker waits for no more copies at a time than it may',
    file: `${worker}/shadow/lane.ts`,
    find: 'this.#copies >= most || ',
    replace: '',
    test: mirror,
  },
  {
    guarantee: 'no copy is sent while real requests wait',
    file: `${worker}/shadow/lane.ts`,
    find: ' || this.#real > most',
    replace: '',
    test: mirror,
  },
  {
    guarantee: 'copies end with the task',
    file: `${worker}/tasks/tenure.ts`,
    find: '      this.#options.mirror?.close();\n      watching.abort();',
    replace: '      watching.abort();',
    test: tasks,
  },
  {
    guarantee: 'copies go to the revision that the task was assigned beside',
    file: `${worker}/tasks/factory.ts`,
    find: 'return now?.rollout === rollout ? now : undefined;',
    replace: 'return now;',
    test: tasks,
  },
  {
    guarantee: 'a verifier in shadow is measured by its own thresholds',
    file: `${worker}/mind/verdicts.ts`,
    find: 'shadow: verdictOf(shadow, at, head, now)',
    replace: 'shadow: verdictOf({ ...shadow, verifier: stable.verifier }, at, head, now)',
    test: mind,
  },
  {
    guarantee: 'what copies say is counted once',
    file: 'operator/src/revisions/ledger.ts',
    find: 'shadow = addShadow(shadow ?? noShadow, sample.shadow, sample.passed);',
    replace: 'shadow = addShadow(addShadow(shadow ?? noShadow, sample.shadow, sample.passed), sample.shadow, sample.passed);',
    test: book,
  },
  {
    guarantee: 'a task of the shadow phase counts for no arm',
    file: 'operator/src/revisions/ledger.ts',
    find: 'else arms[sample.revision]',
    replace: 'arms[sample.revision]',
    test: book,
  },
  {
    guarantee: 'a task of the shadow phase is told apart from those of arms',
    file: 'operator/src/revisions/arm.ts',
    find: "rollout: undefined, shadow: status?.phase === 'Shadowing' ? id : undefined",
    replace: "rollout: status?.phase === 'Shadowing' ? id : undefined, shadow: undefined",
    test: book,
  },
  {
    guarantee: 'a report of copies counts for its own rollout only',
    file: 'operator/src/revisions/shadow.ts',
    find: 'run?.shadow?.rollout === assignment.shadow ? run.shadow',
    replace: 'run?.shadow !== undefined ? run.shadow',
    test: book,
  },
  {
    guarantee: 'no task before enough copies were answered',
    file: 'operator/src/rollout/machine/advance.ts',
    find: 'if (answeredCopies < policy.shadowSamples)',
    replace: 'if (answeredCopies < 0)',
    test: machine,
  },
  {
    guarantee: 'no task before the gates of copies pass',
    file: 'operator/src/rollout/machine/advance.ts',
    find: '[...policy.beforeTraffic, ...policy.inShadow]',
    replace: 'policy.beforeTraffic',
    test: machine,
  },
  {
    guarantee: 'gates that only tasks bring data for hold nothing up in shadow',
    file: 'operator/src/rollout/gates/phases.ts',
    find: "['Job', 'Acts', 'Copies', 'Scores', 'Engines']",
    replace: "['Job', 'Acts', 'Copies', 'Scores', 'Engines', 'Tasks']",
    test: book,
  },
  {
    guarantee: 'few acts that are refused prove no agreement',
    file: 'operator/src/rollout/gates/shadow.ts',
    find: "lower >= minKappa ? 'Pass'",
    replace: "value >= minKappa ? 'Pass'",
    test: gates,
  },
  {
    guarantee: 'a false veto is one of a task that succeeded',
    file: 'operator/src/rollout/gates/shadow.ts',
    find: 'shadow?.ofSucceeded ?? none',
    replace: 'shadow?.acts ?? none',
    test: gates,
  },
  {
    guarantee: 'a server of both revisions gets no request twice',
    file: 'operator/src/controllers/expertpool/manifests/shadow.ts',
    find: 'arm.experts.filter(({ url, chat }) => !known.has(url) && chat === undefined)',
    replace: 'arm.experts.filter(({ chat }) => known.size >= 0 && chat === undefined)',
    test: brief,
  },
];
