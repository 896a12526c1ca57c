import type { Mutant } from './mutants.ts';

const keeper = 'sandbox-image/keeper/src';
const runner = 'sandbox-image/runner/internal/sandbox';
const tasks = 'operator/src/controllers/agenttask';
const effects = 'agent-image/src/effects';
const vitest = (path: string): Mutant['test'] => ({ kind: 'vitest', path });
const go = (run: string, packages = './internal/sandbox'): Mutant['test'] => ({ kind: 'go', packages, run });

/** Bugs in the ladder of isolation, in what user images may do, and in the journal of effects outside of the sandbox. */
export const isolation: readonly Mutant[] = [
  {
    guarantee: 'a RuntimeClass counts only with a kernel of its own',
    file: `${keeper}/isolation.ts`,
    find: 'runtimeClass !== null && info.guest !== null',
    replace: 'runtimeClass !== null',
    test: vitest(`${keeper}/isolation.test.ts`),
  },
  {
    guarantee: 'a guest kernel is known by what images cannot change',
    file: 'sandbox-image/runner/internal/proc/guest.go',
    find: 'strings.Contains(version, "-gvisor ")',
    replace: 'strings.Contains(version, "-gvisor")',
    test: go('TestGuestIsKnownByItsKernel', './internal/proc'),
  },
  {
    guarantee: 'the filter for arm64 has the numbers of arm64',
    file: `${runner}/calls.go`,
    find: '"setns":             {308, 268}',
    replace: '"setns":             {308, 308}',
    test: go('TestNumbersAreTheKernels|TestFilterDecides'),
  },
  {
    guarantee: 'the filter of one architecture kills the calls of another',
    file: `${runner}/seccomp.go`,
    find: 'Val: m.audit, SkipTrue: 1',
    replace: 'Val: native.audit, SkipTrue: 1',
    test: go('TestFilterDecides'),
  },
  {
    guarantee: 'a command without network has no TCP behind the filter either',
    file: `${runner}/landlock.go`,
    find: 'unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP',
    replace: 'unix.LANDLOCK_ACCESS_NET_BIND_TCP',
    test: go('TestClosedPorts'),
  },
  {
    guarantee: 'no command runs with a mount inside a root',
    file: `${runner}/mounts.go`,
    find: 'strings.HasPrefix(point, inside)',
    replace: 'point == inside',
    test: go('TestMountInsideOfARoot'),
  },
  {
    guarantee: 'a RuntimeClass that does not exist is told before a pod is made',
    file: `${tasks}/groundRefusal.ts`,
    find: 'if (runtimeClass === null) {',
    replace: 'if (runtimeClass === null && name === undefined) {',
    test: vitest(`${tasks}/nodeAbility.test.ts`),
  },
  {
    guarantee: 'the runner comes in a volume only where every node can run it from there',
    file: `${tasks}/nodeAbility.ts`,
    find: 'if (wish.runtimeClassName !== undefined) return false;',
    replace: 'if (wish.runtimeClassName !== undefined || ground.nodes.length > 0) return ground.nodes.length > 0;',
    test: vitest(`${tasks}/nodeAbility.test.ts`),
  },
  {
    guarantee: 'users of its own are those of the handler of the sandbox',
    file: `${tasks}/nodeAbility.ts`,
    find: "const handler = runtimeClassOf(ground, wish)?.handler ?? '';",
    replace: "const handler = '';",
    test: vitest(`${tasks}/nodeAbility.test.ts`),
  },
  {
    guarantee: 'the intent of an act is in the log before the act',
    file: `${effects}/journal.ts`,
    find: '    await note(effectNotes.planned, { ...planned });\n    return { planned, after };',
    replace: '    setTimeout(() => void note(effectNotes.planned, { ...planned }), 0);\n    return { planned, after };',
    test: vitest(effects),
  },
  {
    guarantee: 'what somebody else pushed since is not taken back',
    file: `${effects}/compensation/gitPush.ts`,
    find: "`--force-with-lease=${ref}:${after.get(ref) ?? ''}`",
    replace: '`--force-with-lease=${ref}`.slice(0, 7)',
    test: vitest(effects),
  },
  {
    guarantee: 'a remote that does not answer is not taken for an empty one',
    file: `${effects}/compensation/gitPush.ts`,
    find: 'if (exitCode !== 0) return undefined;',
    replace: 'if (exitCode === null) return undefined;',
    test: vitest(effects),
  },
  {
    guarantee: 'a task has no rules that its pool does not list',
    file: `${tasks}/acceptance.ts`,
    find: 'if (!listed.includes(task.spec.policy.profile)) {',
    replace: 'if (listed.length === 0) {',
    test: vitest(`${tasks}/acceptance.test.ts`),
  },
  {
    guarantee: 'a push waits for a person under Permissive',
    file: 'agent-image/src/rails/verdict.ts',
    find: "High: { Strict: 'Deny', Default: 'Deny', Permissive: 'NeedsApproval',",
    replace: "High: { Strict: 'Deny', Default: 'Deny', Permissive: 'NeedsSnapshot',",
    test: vitest('test/loop/push.test.ts'),
  },
  {
    guarantee: 'what gate 2 allowed under Privileged is taken back without asking',
    file: 'agent-image/src/attempt/trial.ts',
    find: 'approved: approved || reviewed',
    replace: 'approved',
    test: vitest('test/loop/push.test.ts'),
  },
  {
    guarantee: 'of what kubectl can do a yes is asked for named objects only',
    file: 'agent-image/src/rails/rail/clusterObjects.ts',
    find: 'else if (!plain.test(word)) return null;',
    replace: "else if (word === '') return null;",
    test: vitest('agent-image/src/rails/rail/escape.test.ts'),
  },
  {
    guarantee: 'what was deleted with all that it held is not called taken back',
    file: `${effects}/compensation/kubectl.ts`,
    find: 'holders.has(kind) && !now.has(key)',
    replace: "kind === '' && !now.has(key)",
    test: vitest(effects),
  },
  {
    guarantee: 'a command that reached out is not run a second time',
    file: 'agent-image/src/attempt/acts/perform.ts',
    find: 'gate.outward(command).external.length > 0',
    replace: 'gate.outward(command).external.length > 9',
    test: vitest('agent-image/src/attempt/acts/perform.test.ts'),
  },
  {
    guarantee: 'an act whose end nobody saw is not run again',
    file: 'agent-image/src/attempt/acts/earlierRun.ts',
    find: 'if (begun === undefined || begun.judged) return nothing;',
    replace: 'if (begun === undefined || begun.after === null) return nothing;',
    test: vitest('agent-image/src/attempt/acts/earlierRun.test.ts'),
  },
  {
    guarantee: 'a way back that nobody allowed does not run',
    file: 'agent-image/src/attempt/acts/outward.ts',
    find: "return approved ? null : 'a person has to allow its way back';",
    replace: 'return null;',
    test: vitest(effects),
  },
  {
    guarantee: 'git applies the patch of a task at the root of its repository',
    file: 'agent-image/src/attempt/workspacePatch.ts',
    find: "(path ?? '').replace(/^(\"?)workspace\\//, '$1')",
    replace: "(path ?? '')",
    test: vitest('agent-image/src/attempt/workspacePatch.test.ts'),
  },
  {
    guarantee: 'an effect that was taken back is not told as standing',
    file: 'cli/src/commands/undo.ts',
    find: "external.filter(({ state }) => state !== 'Undone')",
    replace: 'external.filter(({ state }) => state !== undefined)',
    test: vitest('cli/src/undo.test.ts'),
  },
  {
    guarantee: 'a task sets no label of its sandbox that its pool does not list',
    file: 'operator/src/controllers/agenttask/sandboxBounds.ts',
    find: 'pool.spec.policy[list]?.includes(asked) !== true',
    replace: 'pool.spec.policy[list]?.includes(asked) === false',
    test: vitest('operator/src/controllers/agenttask/sandboxBounds.test.ts'),
  },
  {
    guarantee: 'a waiting sandbox that the operator did not make is taken by nobody',
    file: 'operator/src/controllers/agenttask/observe.ts',
    find: '.filter((pod) => this.#made.has(keyOf(pool), pod))',
    replace: '',
    test: vitest('operator/src/controllers/warmpool/foreign.test.ts'),
  },
  {
    guarantee: 'no more of an answer of a keeper is read than it may have',
    file: 'sandbox-image/keeper/src/client/answer.ts',
    find: 'if (bytes > maxBytes) throw tooLarge(path, maxBytes);',
    replace: '',
    test: vitest('sandbox-image/keeper/src/client/hostile.test.ts'),
  },
];
