// Objects and records that the screens show: a fleet as it looks on a working day, and strings of an attacker.
import { minimalTask } from '../contract/api/examples.ts';
import type { Node } from '../contract/api/fields.ts';

export const hostile =
  '<img src=x onerror="alert(1)"><script>alert(2)</script>\u001b]0;owned\u0007\u001b[2J\u001b[31mred\u001b[0m\u202egnp.exe\u0000 "javascript:alert(3)"';

/** That many minutes ago, as objects write it. */
export const minutes = (ago: number): string => new Date(Date.now() - ago * 60_000).toISOString().replace(/\.\d+Z$/, 'Z');
export const sha = `sha256:${'ab'.repeat(32)}`;

export interface Sample {
  readonly name: string;
  readonly task: Node;
  readonly status: Node;
}

interface Shape {
  readonly goal: string;
  readonly phase: string;
  readonly age: number;
  readonly tokens?: number;
  readonly run?: Node;
  readonly class?: string;
  readonly reason?: string;
  readonly conditions?: readonly Node[];
  readonly queued?: number;
  readonly output?: Node;
}

/** A condition of an object, that many minutes old. */
export const condition = (type: string, status: string, reason: string, message: string, age: number): Node => ({
  type,
  status,
  reason,
  message,
  observedGeneration: 1,
  lastTransitionTime: minutes(age),
});

export function sample(
  name: string,
  { goal, phase, age, tokens = 0, run, class: failure, reason = 'ChecksPassed', conditions = [], queued, output }: Shape,
): Sample {
  const over = ['Succeeded', 'Failed', 'Cancelled'].includes(phase);
  const usage = {
    tokensIn: Math.round(tokens * 0.9),
    tokensOut: Math.round(tokens * 0.1),
    cost: (tokens * 0.000003).toFixed(6),
    toolCalls: Math.round(tokens / 2500),
    cpuMillis: 40_000,
    wallSeconds: Math.round(age * 30),
    candidates: Math.round(tokens / 2000),
    vetoes: 1,
    backtracks: 0,
  };
  const started = queued === undefined && phase !== 'Pending';
  const end = age * 0.4;
  return {
    name,
    task: {
      ...minimalTask,
      metadata: { name },
      spec: {
        ...(minimalTask['spec'] as Node),
        goal,
        poolRef: { name: 'coding' },
        ...(output !== undefined && { output }),
        budget: { tokens: 200_000, cost: '2.5', toolCalls: 200, wallSeconds: 3600 },
      },
    },
    status: {
      observedGeneration: 1,
      phase,
      finished: String(over),
      conditions: [...conditions, ...(over ? [condition('Finished', 'True', reason, `${phase} after 1 attempt`, end)] : [])],
      ...(started && { clock: { startedAt: minutes(age), pausedSeconds: 0 } }),
      ...(queued !== undefined && { queue: { position: queued, since: minutes(age) } }),
      ...(started && {
        assignment: {
          attempt: 1,
          epoch: 1,
          worker: 'coding-workers-5d9f-x2k',
          workerNamespace: 'agents',
          sandbox: `${name}-1`,
          warm: true,
          since: minutes(age),
          directive: over ? 'Stop' : 'Run',
          revision: Math.round(tokens / 100) % 3 === 0 ? 'bbbbbbbbbb' : 'aaaaaaaaaa',
        },
        totals: { usage },
        run: {
          attempt: 1,
          epoch: 1,
          usage,
          ...(over && {
            outcome: { result: phase === 'Succeeded' ? 'Succeeded' : 'Failed', reason, ...(failure !== undefined && { class: failure }) },
          }),
          ...run,
        },
        attempts: [
          {
            number: 1,
            startedAt: minutes(age),
            ...(over && { endedAt: minutes(end), reason }),
            ...(failure !== undefined && { class: failure }),
          },
        ],
      }),
    },
  };
}

const expires = (inMinutes: number): string => minutes(-inMinutes);
const plan = (done: number, steps: readonly string[]): Node => ({
  snapshots: { initial: 's0000' },
  progress: { done, total: steps.length, message: steps[done] ?? 'verifies' },
  plan: [
    { id: '1', kind: 'Goal', intent: 'Parse offsets such as +05:30', state: 'Running' },
    ...steps.map((intent, at) => ({
      id: `1.${at + 1}`,
      kind: 'Step',
      intent,
      state: at < done ? 'Done' : at === done ? 'Running' : 'Pending',
    })),
  ],
});

const steps = ['Reproduce the failing test', 'Read the tokenizer', 'Correct the sign of negative offsets', 'Run all tests'];

/** The fleet: what waits, what is stuck, what runs, queued ones and those that ended. */
export function fleet(): readonly Sample[] {
  const goals = [
    'Make the date parser accept offsets',
    'Upgrade the HTTP client to version 5',
    'Find why the nightly export is slow',
    'Add pagination to the list of invoices',
    'Remove the deprecated flag from the worker',
    'Write tests for the retry policy',
  ];
  const ended = Array.from({ length: 30 }, (_, at) => {
    const failed = at % 5 === 2;
    const run = {
      signals: {
        pSuccess: (failed ? 0.12 + (at % 4) * 0.14 : 0.55 + (at % 6) * 0.08).toFixed(2),
        energy: ((failed ? 0.4 : -1.8) + (at % 6) * 0.3).toFixed(2),
      },
    };
    return sample(`${failed ? 'export' : 'parser'}-${String(at + 10)}`, {
      goal: goals[at % goals.length] ?? '',
      phase: failed ? 'Failed' : 'Succeeded',
      age: 70 + at * 53,
      tokens: 18_000 + at * 4300,
      run,
      ...(failed && { class: at % 2 === 0 ? 'CheckFailed' : 'BudgetExceeded', reason: at % 2 === 0 ? 'ChecksFailed' : 'TokensSpent' }),
    });
  });
  return [
    sample('release-notes', {
      goal: 'Publish the release notes of version 2.4 to the wiki.',
      phase: 'AwaitingApproval',
      age: 14,
      tokens: 41_000,
      run: {
        pendingApproval: {
          action: sha,
          kind: 'Act',
          summary: 'git push origin release/2.4',
          evidence:
            'External: it changes a repository outside of the sandbox.\nThe agent: "All checks hold; the branch is ready to be pushed."',
          expires: expires(46),
        },
      },
    }),
    sample('billing-rounding', {
      goal: 'Amounts on invoices are rounded differently from those in the ledger. Make both the same.',
      phase: 'AwaitingApproval',
      age: 9,
      tokens: 22_000,
      run: {
        pendingApproval: {
          action: sha.replace('ab', 'cd'),
          kind: 'Question',
          summary: 'Which rounding is right?',
          question: 'The ledger rounds half to even, invoices round half up. Which of both shall I keep?',
          expires: expires(20),
        },
      },
    }),
    sample('no-such-branch', {
      goal: 'Port the fix to the branch of version 1.',
      phase: 'Pending',
      age: 3,
      conditions: [
        condition(
          'Accepted',
          'False',
          'WorkspaceNotFound',
          'spec.workspace.git.ref: the repository has no branch v1; correct it in another task',
          3,
        ),
      ],
    }),
    sample('date-offsets', {
      goal: 'Make the date parser accept offsets such as +05:30 and keep negative ones.\n\nThe test test_offsets fails. Do not change the public API.',
      phase: 'Running',
      age: 6,
      tokens: 61_400,
      run: plan(2, steps),
    }),
    sample('http-client', {
      goal: 'Upgrade the HTTP client to version 5.',
      phase: 'Verifying',
      age: 22,
      tokens: 120_300,
      run: plan(4, steps),
    }),
    sample('slow-export', {
      goal: 'Find why the nightly export takes four hours.',
      phase: 'Running',
      age: 41,
      tokens: 187_000,
      run: { ...plan(1, steps), patch },
    }),
    sample('queued-1', { goal: 'Add pagination to the list of invoices.', phase: 'Queued', age: 12, queued: 0 }),
    sample('queued-2', { goal: 'Remove the deprecated flag from the worker.', phase: 'Queued', age: 7, queued: 1 }),
    ...ended,
  ];
}

const note = (kind: string, data: object): object => ({ kind, data });
const reply = (
  step: number,
  text: string,
  calls: readonly { readonly id: string; readonly name: string; readonly arguments: object }[],
): readonly object[] => [
  note('ModelReplied', {
    step,
    proposals: [{ text, calls: calls.map((call) => ({ ...call, arguments: JSON.stringify(call.arguments) })) }],
    charged: { usage: { input: 5200 + step * 900, output: 180 }, costMicros: 3100 },
  }),
  note('ReplyChosen', { step, index: 0 }),
];
const observed = (step: number, callId: string, tool: string, text: string, more: object = { ok: true }): object =>
  note('CallObserved', { step, callId, tool, text, ...more });

/** A conversation with all that there is: calls, a refusal, a person, candidates. */
export function conversation(): readonly object[] {
  return [
    note('TaskBegan', { pool: { name: 'coding' }, consent: 'None', goal: 'g' }),
    { type: 'SnapshotTaken', body: { id: 's0000', label: 'initial' } },
    note('Baseline', { checks: [{ check: 'unit', expect: 'FailThenPass', failing: ['test_offsets'] }] }),
    note('ConversationBegan', {
      expert: 'gen',
      system: 'You are an agent that works on a task in a sandbox.',
      goal: 'Make the date parser accept offsets such as +05:30 and keep negative ones.',
      tools: [{ name: 'bash' }, { name: 'read_file' }, { name: 'edit_file' }],
    }),
    ...reply(1, 'The test fails; I run it first to see how.', [
      { id: 'a', name: 'bash', arguments: { command: 'python -m pytest -q tests/test_dates.py' } },
    ]),
    observed(
      1,
      'a',
      'bash',
      "\u001b[31mFAILED\u001b[0m tests/test_dates.py::test_offsets - ValueError: bad offset '+05:30'\n\u001b[32m11 passed\u001b[0m, \u001b[31m1 failed\u001b[0m in 0.31s",
      { ok: false },
    ),
    ...reply(2, 'The tokenizer drops the minutes of an offset. I look at it, and at how callers use it.', [
      { id: 'b', name: 'read_file', arguments: { path: 'dates/tokenizer.py' } },
      { id: 'c', name: 'bash', arguments: { command: 'grep -rn "parse_offset" dates' } },
    ]),
    observed(
      2,
      'b',
      'read_file',
      'def parse_offset(text):\n    sign = -1 if text[0] == "-" else 1\n    return sign * int(text[1:3]) * 60\n',
    ),
    observed(2, 'c', 'bash', 'dates/tokenizer.py:14:def parse_offset(text):\ndates/parser.py:52:    offset = parse_offset(token)\n'),
    ...reply(3, 'It would be quickest to relax the test.', [
      { id: 'd', name: 'edit_file', arguments: { path: 'tests/test_dates.py', old_text: "'+05:30'", new_text: "'+05'" } },
    ]),
    observed(
      3,
      'd',
      'edit_file',
      'Refused: tests/test_dates.py is protected, because the check unit depends on it. Allowed: change the code that it tests.',
      { ok: false, refused: 'protected-paths' },
    ),
    note('Tried', {
      id: `sha256:${'1f'.repeat(32)}`,
      step: 4,
      operator: 'edit',
      location: 'dates/tokenizer.py:16',
      decision: 'Chosen',
      result: 'Passed',
      facts: { expert: 'gen', testsFailing: 0, testsTotal: 12 },
      signals: { pSuccess: 0.91, energy: -1.84, risk: 0.04 },
    }),
    note('Tried', {
      id: `sha256:${'2e'.repeat(32)}`,
      step: 4,
      operator: 'edit',
      location: 'dates/parser.py:52',
      decision: 'Dropped',
      result: 'Failed',
      why: 'one more test fails',
      facts: { expert: 'gen', testsFailing: 2, testsTotal: 12 },
      signals: { pSuccess: 0.22, energy: 0.71, risk: 0.1 },
    }),
    ...reply(4, 'Understood: the test stays. I add the minutes with the sign of the hours.', [
      {
        id: 'e',
        name: 'edit_file',
        arguments: {
          path: 'dates/tokenizer.py',
          old_text: 'return sign * int(text[1:3]) * 60',
          new_text: 'return sign * (int(text[1:3]) * 60 + int(text[4:6] or 0))',
        },
      },
    ]),
    observed(4, 'e', 'edit_file', 'dates/tokenizer.py: 1 edit, 3 lines shown\n'),
    { type: 'SnapshotTaken', body: { id: 's0001', label: 'step 4' } },
    note('NoticeGiven', { step: 5, origin: 'Person', text: 'Please keep Python 3.9 working.' }),
    ...reply(5, 'No syntax newer than 3.9 is used. I run everything.', [
      { id: 'f', name: 'bash', arguments: { command: 'python -m pytest -q' } },
    ]),
    observed(5, 'f', 'bash', '\u001b[32m12 passed\u001b[0m in 0.33s\n'),
    note('Green', { snapshot: 's0004' }),
    note('Outcome', { attempt: 1, result: 'Succeeded', reason: 'ChecksPassed' }),
  ];
}

/** `dates/tokenizer.py` before the patch. */
export const before = `${'\n'.repeat(10)}import re

# An offset is a sign, hours and perhaps minutes.
def parse_offset(text):
    sign = -1 if text[0] == "-" else 1
    return sign * int(text[1:3]) * 60

`;

export const patch = `diff --git a/dates/tokenizer.py b/dates/tokenizer.py
index 1111111..2222222 100644
--- a/dates/tokenizer.py
+++ b/dates/tokenizer.py
@@ -12,6 +12,7 @@ import re
 
 # An offset is a sign, hours and perhaps minutes.
 def parse_offset(text):
     sign = -1 if text[0] == "-" else 1
-    return sign * int(text[1:3]) * 60
+    minutes = int(text[4:6] or 0)
+    return sign * (int(text[1:3]) * 60 + minutes)
 
diff --git a/CHANGES.md b/CHANGES.md
new file mode 100644
index 0000000..3333333
--- /dev/null
+++ b/CHANGES.md
@@ -0,0 +1,2 @@
+## Unreleased
+- Offsets keep their minutes.
`;

/** Replies without calls, as many as are asked for. */
export function longConversation(turns: number): readonly object[] {
  return Array.from({ length: turns }, (_, at) => [
    note('ModelReplied', { step: at + 1, proposals: [{ text: `This is reply ${at + 1}.`, calls: [] }], charged: {} }),
    note('ReplyChosen', { step: at + 1, index: 0 }),
  ]).flat();
}

/** The same kinds of records, each text hostile. */
export function hostileConversation(): readonly object[] {
  return [
    note('ConversationBegan', { expert: hostile, system: hostile, goal: hostile, tools: [{ name: hostile }] }),
    ...reply(1, hostile, [{ id: 'a', name: hostile, arguments: { [hostile]: hostile } }]),
    observed(1, 'a', hostile, hostile, { ok: false, refused: hostile }),
    note('NoticeGiven', { step: 1, origin: 'Person', text: hostile }),
    note('Rejected', { action: 'x', summary: hostile, requester: hostile, why: hostile }),
    note(hostile, { [hostile]: hostile }),
  ];
}

export const hostilePatch = `diff --git a/a.py b/${hostile.replaceAll(/[\s"]/g, '')}.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = '${hostile.replaceAll('\n', ' ')}'\n`;
