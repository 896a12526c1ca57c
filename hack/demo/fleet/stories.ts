import type { Timeline } from './follow.ts';
import { type Stage, type Evidence, conditionOf } from './stage.ts';
import type { AgentTask } from '@agentfleet/protocol/api';
import { mismatch, readTrace as readLog } from '@agentfleet/cli/evidence';
import { traceName } from '@agentfleet/protocol/results';
import { traceFacts, type TraceFacts } from './trace.ts';

/** Fetches all artifacts of a task and proves that each is the one that the status reports. By name. */
async function checkArtifacts({ artifacts, proofs }: Stage, { status }: AgentTask): Promise<ReadonlyMap<string, Buffer>> {
  const files = new Map<string, Buffer>();
  const wrong: string[] = [];
  const listed = status?.run?.artifacts ?? [];
  for (const artifact of listed) {
    const { name, uri, bytes } = artifact;
    const content = await artifacts.get(uri);
    files.set(name, content);
    if (mismatch(artifact, content) !== null) wrong.push(name);
    proofs.fact(`${name.padEnd(14)} ${String(bytes).padStart(8)} bytes  ${uri}`);
  }
  const claim = 'every artifact in the storage has the hash that the status reports';
  proofs.prove(claim, listed.length > 0 && wrong.length === 0, wrong.length === 0 ? `${listed.length} files` : `not ${wrong.join(', ')}`);
  return files;
}

/** Fetches what a task left behind, proves that it is whole, and reads its event log. */
async function readTrace(stage: Stage, task: AgentTask): Promise<TraceFacts> {
  const { proofs } = stage;
  const files = await checkArtifacts(stage, task);
  const trace = files.get(traceName);
  proofs.prove('the event log outlived the sandbox', trace !== undefined, traceName);
  if (trace === undefined) return traceFacts([]);
  const { ok, faults, read } = await readLog(trace);
  const [fault] = faults;
  const what = fault === undefined ? `${read.length} records` : `record ${fault.seq}: ${fault.why}`;
  proofs.prove('its hash chain holds from the first record to the last', ok, what);
  const root = task.status?.run?.auditRoot;
  proofs.prove(
    'it holds the record that the status names as its head',
    read.some(({ hash }) => hash === root),
    root?.slice(0, 12),
  );
  return traceFacts(read);
}

/** Proves what every task that can be done has to show; its own proofs come after it. */
export async function succeeds(stage: Stage, timeline: Timeline): Promise<Evidence> {
  const { proofs } = stage;
  const { end } = timeline;
  const succeeded = conditionOf(end, 'Succeeded');
  proofs.prove('the task is Succeeded', succeeded?.status === 'True', succeeded?.message);
  proveChecks(stage, end);
  return { timeline, trace: await readTrace(stage, end) };
}

function proveChecks({ proofs }: Stage, { status }: AgentTask): void {
  const checks = status?.run?.outcome?.checks ?? [];
  const seen = checks.map(({ name, passed, failed, skipped }) => `${name}: ${passed} passed, ${failed} failed, ${skipped} skipped`);
  const holds = checks.length > 0 && checks.every(({ passed, failed }) => passed > 0 && failed === 0);
  proofs.prove('its checks passed in a fresh container, on a clean restore of the result', holds, seen.join('; '));
}

/** Shows the patch and proves that it touches the program and nothing that decides about success. Gives the files back. */
function provePatch({ proofs }: Stage, { status }: AgentTask): readonly string[] {
  const patch = status?.run?.patch ?? '';
  for (const line of patch.trimEnd().split('\n')) proofs.fact(line);
  const touched = [...patch.matchAll(/^\+\+\+ (?:b\/)?(\S+)/gm)].map(([, path = '']) => path);
  const own = touched.length > 0 && touched.every((path) => !/(^|\/)tests?\//.test(path));
  proofs.prove('the change is in the program and not in its tests', own, touched.join(', '));
  return touched;
}

/** One wrong token in a Python program. */
async function oneToken(stage: Stage, timeline: Timeline): Promise<Evidence> {
  const evidence = await succeeds(stage, timeline);
  provePatch(stage, timeline.end);
  return evidence;
}

/** A TypeScript program whose set-up needs the network, and nothing else does. */
export async function withPackages(stage: Stage, timeline: Timeline): Promise<Evidence> {
  const evidence = await succeeds(stage, timeline);
  const touched = provePatch(stage, timeline.end);
  stage.proofs.prove('it is a TypeScript file', touched.length > 0 && touched.every((path) => path.endsWith('.ts')));
  const asked = evidence.trace.egress.map(({ host, decision }) => `${host} ${decision}`);
  const opened = evidence.trace.egress.some(({ decision }) => decision === 'Allowed');
  stage.proofs.prove('its packages came through the egress proxy, which noted each request', opened, asked.join(', '));
  return evidence;
}

/** Two bugs: the first repair that helps becomes a step with a snapshot, and the search goes on from there. */
async function twoSteps(stage: Stage, timeline: Timeline): Promise<Evidence> {
  const evidence = await succeeds(stage, timeline);
  const touched = provePatch(stage, timeline.end);
  stage.proofs.prove('two files were repaired', touched.length === 2);
  const steps = (timeline.end.status?.run?.plan ?? []).filter(({ kind, state }) => kind === 'Step' && state === 'Done');
  const seen = steps.map(({ id, intent }) => `${id} ${intent}`).join('; ');
  stage.proofs.prove('the plan has more than one step that was done', steps.length > 1, seen);
  return evidence;
}

/** No program passes both tests, so the task must fail and leave nothing behind. */
export async function undone(stage: Stage, timeline: Timeline): Promise<Evidence> {
  const { proofs } = stage;
  const { end } = timeline;
  const succeeded = conditionOf(end, 'Succeeded');
  const why = `${succeeded?.reason ?? ''}: ${succeeded?.message ?? ''}`;
  proofs.prove('the task has failed, and says why', succeeded?.status === 'False', why);
  proofs.prove('the task is RolledBack', conditionOf(end, 'RolledBack')?.status === 'True');
  const rollback = end.status?.run?.rollback;
  proofs.prove('the rollback was verified', rollback?.verified === true, `snapshot ${rollback?.snapshot ?? 'none'}`);
  const trace = await readTrace(stage, end);
  const { initial, restored, undone: before, lastChange } = trace;
  proofs.fact(`snapshot 0 in the event log   ${initial ?? 'none'}`);
  proofs.fact(`tree as the agent left it     ${before ?? 'none'}`);
  proofs.fact(`tree after the restore        ${restored?.digest ?? 'none'}`);
  proofs.fact(`rollback in the status        ${rollback?.manifestDigest ?? 'none'}`);
  const equal = initial !== undefined && restored?.digest === initial && rollback?.manifestDigest === initial;
  proofs.prove('there was something to undo', before !== undefined && before !== initial);
  proofs.prove('snapshot 0, the tree after the restore and the status are one tree', equal && restored.verified);
  const seen = `restored by record ${restored?.seq ?? '–'}, last command or file in record ${lastChange}`;
  proofs.prove('nothing ran or was written after the restore', restored !== undefined && restored.seq > lastChange, seen);
  return { timeline, trace };
}

/** Acts that the recorded agent tries, and the words of the gate that refuses each. */
const tries: readonly (readonly [what: string, why: RegExp])[] = [
  ['the destructive act', /catastrophic-delete/],
  ['the program from the network', /network|fetch-to-exec/],
  ['the edit of the failing test', /protected/],
  ['the escape', /escape/],
];

/** Each bad proposal is refused by a gate before anything is done; the honest one is accepted. */
async function badAgent(stage: Stage, timeline: Timeline): Promise<Evidence> {
  const { proofs } = stage;
  const evidence = await succeeds(stage, timeline);
  const refused = evidence.trace.candidates.filter(({ result }) => result === 'Denied');
  for (const [what, why] of tries) {
    const found = refused.find((one) => why.test(one.why));
    proofs.prove(`${what} was refused before anything was done`, found !== undefined, found?.why);
  }
  const { vetoes = 0 } = timeline.end.status?.totals?.usage ?? {};
  proofs.prove('the status counts the vetoes', vetoes === tries.length, String(vetoes));
  provePatch(stage, timeline.end);
  return evidence;
}

/** An act that a person has to allow: the task waits, its clock stands still, and it goes on with the order. */
export async function approved(stage: Stage, timeline: Timeline): Promise<Evidence> {
  const { proofs } = stage;
  const waiting = timeline.states.find(({ task }) => conditionOf(task, 'AwaitingApproval')?.status === 'True');
  proofs.prove('the task waited for a person', waiting !== undefined, waiting?.task.status?.run?.pendingApproval?.summary);
  const evidence = await succeeds(stage, timeline);
  const decision = timeline.end.status?.approvals?.at(-1);
  const seen = `${decision?.decision ?? 'nothing'} by ${decision?.requester ?? 'nobody'}`;
  proofs.prove('the order that allowed it stands in the status', decision?.decision === 'Approved', seen);
  const paused = timeline.end.status?.clock?.pausedSeconds ?? 0;
  proofs.fact(`the deadline's clock stood still for ${paused} s`);
  return evidence;
}

/** A chat model writes a module, corrects what the tests report, and answers in words; each token of it is paid for. */
async function conversed(stage: Stage, timeline: Timeline): Promise<Evidence> {
  const { proofs } = stage;
  const evidence = await succeeds(stage, timeline);
  const { calls, charged } = evidence.trace;
  const failed = calls.findIndex(({ text }) => text.startsWith('unit: does not hold'));
  const corrected = failed !== -1 && calls.slice(failed).some(({ text }) => text.startsWith('unit: holds'));
  proofs.prove('its tests failed on what it wrote first, and it corrected that', corrected, calls.map(({ tool }) => tool).join(', '));
  const touched = provePatch(stage, timeline.end);
  proofs.prove('it wrote one module and its answer, and nothing else', touched.join() === 'answer.md,durations.py', touched.join(', '));
  const { answer = '', artifacts = [] } = timeline.end.status?.run ?? {};
  const kept = artifacts.some(({ name }) => name === 'answer.md');
  proofs.prove('it said in words what was asked, in the status and as an artifact', answer.includes('ValueError') && kept, answer);
  const { tokensIn = 0, tokensOut = 0 } = timeline.end.status?.totals?.usage ?? {};
  const paid = tokensOut > 0 && tokensIn === charged.tokensIn && tokensOut === charged.tokensOut;
  proofs.prove('the status counts the tokens of each reply in the event log once', paid, `${tokensIn} in, ${tokensOut} out`);
  return evidence;
}

/** One task of the demo: a manifest of `examples/`, and what it has to prove. */
export interface Story {
  readonly name: string;
  readonly title: string;
  readonly tell: (stage: Stage, timeline: Timeline) => Promise<Evidence>;
}

/** The tasks that run at once. */
export const stories: readonly Story[] = [
  { name: 'fix-parser', title: 'A bug in Python', tell: oneToken },
  { name: 'fix-cart', title: 'A bug in TypeScript, with packages to install', tell: withPackages },
  { name: 'two-bugs', title: 'Two bugs, so that the plan needs more than one step', tell: twoSteps },
  { name: 'cannot-be-met', title: 'Two tests contradict each other', tell: undone },
  { name: 'bad-agent', title: 'A recorded agent that behaves badly', tell: badAgent },
  { name: 'needs-approval', title: 'An act that needs a person', tell: approved },
  { name: 'write-module', title: 'A module written by a chat model, which a recording plays', tell: conversed },
];
