import { durable } from './durable.ts';
import { edits } from './edits.ts';
import { evaluations } from './evaluations.ts';
import { energies } from './energies.ts';
import { execs } from './exec.ts';
import { faults } from './faults.ts';
import { kubes } from './kube.ts';
import { layers } from './layers.ts';
import { placement } from './placement.ts';
import { rollouts } from './rollouts.ts';
import { tools } from './tools.ts';
import { snapshots } from './snapshots.ts';
import { isolation } from './isolation.ts';
import { suspensions } from './suspensions.ts';

/** A planted bug: one exact replacement in one file, and the test that must fail because of it. */
export interface Mutant {
  readonly guarantee: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  readonly test:
    { readonly kind: 'vitest'; readonly path: string } | { readonly kind: 'go'; readonly packages: string; readonly run: string };
}

const keeper = 'sandbox-image/keeper/src';
const runner = 'sandbox-image/runner';
const tasks = 'operator/src/controllers/agenttask';
const worker = 'agent-image/src';
const vitest = (path: string): Mutant['test'] => ({ kind: 'vitest', path });
const go = (packages: string, run: string): Mutant['test'] => ({ kind: 'go', packages, run });

/** One planted bug for each guarantee. */
export const mutants: readonly Mutant[] = [
  {
    guarantee: 'a token for another sandbox is refused',
    file: `${keeper}/auth/token.ts`,
    find: '    audience: rules.audience,\n',
    replace: '',
    test: vitest(`${keeper}/auth`),
  },
  {
    guarantee: 'a token of another ServiceAccount is refused',
    file: `${keeper}/auth/token.ts`,
    find: 'if (!rules.subjects.includes(subject))',
    replace: "if (subject === '')",
    test: vitest(`${keeper}/auth`),
  },
  {
    guarantee: 'a lower epoch is refused',
    file: `${keeper}/auth/epoch.ts`,
    find: 'if (epoch >= this.#current) return;',
    replace: 'if (epoch >= 0) return;',
    test: vitest(`${keeper}/auth`),
  },
  {
    guarantee: 'the epoch outlives a restart of the keeper',
    file: `${keeper}/auth/epoch.ts`,
    find: '    await writeEpoch(this.#file, epoch);\n',
    replace: '',
    test: vitest(`${keeper}/auth`),
  },
  {
    guarantee: 'the log shows an altered record',
    file: `${keeper}/log/chain.ts`,
    find: "if (record.hash !== hashOf(record.prev, record)) return 'its hash does not fit its content';",
    replace: '',
    test: vitest(`${keeper}/log`),
  },
  {
    guarantee: 'the log shows a dropped or reordered record',
    file: `${keeper}/log/chain.ts`,
    find: 'if (record.prev !== head.hash)',
    replace: 'if (record.prev.length !== head.hash.length)',
    test: vitest(`${keeper}/log`),
  },
  {
    guarantee: 'a log that lost its end is not called whole by who knows its head',
    file: `${keeper}/log/inspect.ts`,
    find: 'if (root !== undefined && this.#rootAt === null)',
    replace: 'if (root !== undefined && this.#records === 0)',
    test: vitest(`${keeper}/log`),
  },
  {
    guarantee: 'a revert script changes nothing where a root is not there',
    file: `${keeper}/snapshot/revert/script.ts`,
    find: '|| exit 2; ROOT_',
    replace: '|| true; ROOT_',
    test: vitest(`${keeper}/snapshot/revert/bundle.test.ts`),
  },
  {
    guarantee: 'the command line runs no revert script but the one that the status tells of',
    file: 'cli/src/evidence/artifact.ts',
    find: 'return found === sha256 ? null :',
    replace: 'return found.length === sha256.length ? null :',
    test: vitest('cli/src/undo.test.ts'),
  },
  {
    guarantee: 'the command line looks at what a revert script did',
    file: 'cli/src/commands/undo.ts',
    find: 'if (wrong.length === 0) return',
    replace: 'if (wrong.length >= 0) return',
    test: vitest('cli/src/undo.test.ts'),
  },
  {
    guarantee: 'only who knows the key speaks for the runner',
    file: `${keeper}/link/handshake.ts`,
    find: "if (!timingSafeEqual(Buffer.from(mac, 'hex'), Buffer.from(expected, 'hex')))",
    replace: 'if (timingSafeEqual(Buffer.alloc(1), Buffer.alloc(1)) && expected === mac.slice(1))',
    test: vitest(`${keeper}/link`),
  },
  {
    guarantee: 'a repeated execId with another request is refused',
    file: `${keeper}/exec/executor.ts`,
    find: 'if (known !== asked)',
    replace: "if (known === '')",
    test: vitest(`${keeper}/exec`),
  },
  {
    guarantee: 'one thing at a time changes the tree',
    file: `${keeper}/gate.ts`,
    find: 'if (!refuses[mode].includes(other.mode)) continue;',
    replace: 'continue;',
    test: vitest(`${keeper}/exec`),
  },
  {
    guarantee: 'a link never leads file access out of the roots',
    file: `${keeper}/files/resolve.ts`,
    find: 'if (!isInside(target, realRoots))',
    replace: "if (target === '')",
    test: vitest(`${keeper}/files`),
  },
  {
    guarantee: 'an open network is not called enforced',
    file: `${keeper}/network/probe.ts`,
    find: "if (!open) this.#publish('Enforced', targets);",
    replace: "if (targets.length > 0) this.#publish('Enforced', targets);",
    test: vitest(`${keeper}/network`),
  },
  {
    guarantee: 'user code never mounts the store',
    file: 'operator/src/controllers/agenttask/sandboxPod.ts',
    find: "      { name: 'tmp', mountPath: '/tmp' },",
    replace: "      { name: 'tmp', mountPath: '/tmp' },\n      { name: 'store', mountPath: storeDir },",
    test: vitest('operator'),
  },
  {
    guarantee: 'nothing leaves a sandbox',
    file: 'operator/src/controllers/agenttask/sandboxNetworkPolicy.ts',
    find: "policyTypes: ['Ingress', 'Egress'],",
    replace: "policyTypes: ['Ingress'],",
    test: vitest('operator'),
  },
  {
    guarantee: 'the runner obeys only who knows the key',
    file: `${runner}/internal/link/handshake.go`,
    find: 'if !hmac.Equal([]byte(w.Mac), []byte(Mac(key, KeeperText(nonce, ch.Nonce)))) {',
    replace: 'if w.Mac == "" {',
    test: go('./internal/link', 'TestKeeperMustKnowTheKey'),
  },
  {
    guarantee: 'the whole tree of a command dies, also who calls setsid',
    file: `${runner}/internal/proc/self.go`,
    find: 'unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)',
    replace: 'unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)',
    test: go('./test', 'TestTimeoutKillsWhoHides|TestSurvivorsAreSwept'),
  },
  {
    guarantee: 'memory and environment of the runner are closed to commands',
    file: `${runner}/internal/proc/self.go`,
    find: 'return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)',
    replace: 'return nil',
    test: go('./test', 'TestInfoTellsWhatWasTried|TestSupervisorCannotBeHarmed'),
  },
  {
    guarantee: 'commands cannot read the folder of the runner',
    file: `${runner}/internal/sandbox/landlock.go`,
    find: '\t\tif p == Private {\n\t\t\tcontinue\n\t\t}\n',
    replace: '',
    test: go('./test', 'TestLandlockDeniesByTrying'),
  },
  {
    guarantee: 'commands cannot signal their supervisor',
    file: `${runner}/internal/sandbox/landlock.go`,
    find: 'unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL',
    replace: 'unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET',
    test: go('./test', 'TestSupervisorCannotBeHarmed'),
  },
  {
    guarantee: 'system calls that lead out are refused',
    file: `${runner}/internal/sandbox/seccomp.go`,
    find: '\tfor _, nr := range m.refused() {\n',
    replace: '\tfor _, nr := range m.refused()[:1] {\n',
    test: go('./internal/sandbox', 'TestFilterDecides'),
  },
  {
    guarantee: 'every assignment raises the epoch',
    file: `${tasks}/decide.ts`,
    find: '    epoch: (assignment?.epoch ?? 0) + 1,',
    replace: '    epoch: assignment?.epoch ?? 1,',
    test: vitest(tasks),
  },
  {
    guarantee: 'a second sandbox waits until the first is gone',
    file: `${tasks}/placing.ts`,
    find: 'if (sandbox !== undefined || snapshot.pods.length === 0) return undefined;',
    replace: 'if (sandbox !== undefined || snapshot.pods.length >= 0) return undefined;',
    test: vitest(tasks),
  },
  {
    guarantee: 'what the infrastructure did is not charged',
    file: `${tasks}/attempts.ts`,
    find: "attemptAction(attempt.class, spec.attempts) !== 'Ignore'",
    replace: "attemptAction(attempt.class, spec.attempts) !== 'Fail'",
    test: vitest(tasks),
  },
  {
    guarantee: 'a status is written only over the version that it was decided from',
    file: `${tasks}/execute.ts`,
    find: 'await this.#status.apply(declaration, signal, seen, resourceVersion);',
    replace: 'await this.#status.apply(declaration, signal, seen);',
    test: vitest(tasks),
  },
  {
    guarantee: 'git speaks no other protocol, also after a redirect',
    file: `${worker}/workspace/git/environment.ts`,
    find: "GIT_ALLOW_PROTOCOL: 'https:ssh'",
    replace: "GIT_ALLOW_PROTOCOL: 'https:http:file:git:ext:ssh'",
    test: vitest(`${worker}/workspace`),
  },
  {
    guarantee: 'an artifact that was altered in the bucket is not returned',
    file: `${worker}/store/s3/s3Store.ts`,
    find: "if (typeof expected === 'string' && ",
    replace: "if (expected === '' && ",
    test: vitest(`${worker}/store`),
  },
  {
    guarantee: 'a worker whose lease is over writes nothing',
    file: `${worker}/lease/workerLease.ts`,
    find: 'this.fence = new LeaseFence(options.clock, workerLease.selfStop * 1000);',
    replace: 'this.fence = new LeaseFence(options.clock, workerLease.selfStop * 1_000_000);',
    test: vitest(worker),
  },
  {
    guarantee: 'gate 1 refuses what the rails deny',
    file: `${worker}/attempt/gate.ts`,
    find: '    allowed: refused === undefined,\n',
    replace: '    allowed: true,\n',
    test: vitest(`${worker}/attempt/gate.test.ts`),
  },
  {
    guarantee: 'gate 2 refuses where a part says no or cannot be heard',
    file: `${worker}/mind/opinion.ts`,
    find: '    allowed: why === null,\n',
    replace: '    allowed: true,\n',
    test: vitest(`${worker}/mind`),
  },
  {
    guarantee: 'an act that a person rejected is not done',
    file: `${worker}/attempt/approvals.ts`,
    find: 'return { decision: note.decision, by: byOf(note) };',
    replace: "return { decision: 'Approved', by: byOf(note) };",
    test: vitest(`${worker}/attempt/approvals.test.ts`),
  },
  {
    guarantee: 'a command reaches listed hosts only',
    file: `${worker}/egress/hosts.ts`,
    find: 'return this.#listed.has(`${plainHost(host)} ${port}`);',
    replace: 'return plainHost(host) !== String(port);',
    test: vitest(`${worker}/egress`),
  },
  {
    guarantee: 'of two that claim a waiting sandbox one gets it',
    file: `${tasks}/claim.ts`,
    find: '      resourceVersion,\n      labels:',
    replace: '      labels:',
    test: vitest('operator/src/controllers/warmpool'),
  },
  {
    guarantee: 'a risky step is deliberated, however sure the ranking is',
    file: `${worker}/mind/schedule.ts`,
    find: 'if ((risk ?? 0) > riskThreshold || deliberate)',
    replace: 'if ((risk ?? 0) > Math.max(1, riskThreshold) || deliberate)',
    test: vitest(`${worker}/mind/schedule.test.ts`),
  },
  ...durable,
  ...edits,
  ...evaluations,
  ...execs,
  ...tools,
  ...snapshots,
  ...isolation,
  ...layers,
  ...kubes,
  ...placement,
  ...rollouts,
  ...suspensions,
  ...energies,
  ...faults,
];
