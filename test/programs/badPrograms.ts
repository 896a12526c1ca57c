import type { HarnessBrief } from '@agentfleet/protocol/pool';
import type { AgentTaskSpec } from '@agentfleet/protocol/api';
import type { Outcome } from '../../agent-image/src/attempt/index.ts';

/** A behaviour of agent programs, and its result. */
export interface Manner {
  /** The row of docs/harnesses.md that promises it; null: it is none of the bad ones. */
  readonly row: string | null;
  readonly what: string;
  /** For `/bin/sh -c`, with the goal as `$1`. */
  readonly script: string;
  readonly harness?: Partial<HarnessBrief>;
  readonly spec?: Partial<AgentTaskSpec>;
  readonly ends: Pick<Outcome, 'result' | 'reason'> & Partial<Pick<Outcome, 'class'>>;
  /** The cure that its message names. */
  readonly says?: RegExp;
}

const failed = (reason: Outcome['reason'], cls: Outcome['class']): Manner['ends'] =>
  ({ result: 'Failed', reason, class: cls }) as Manner['ends'];
export const succeeded: Manner['ends'] = { result: 'Succeeded', reason: 'ChecksHold' };

export const repairs = "printf 'def add(a, b):\\n    return a + b\\n' > calc.py";
const installFails = { install: { command: ['false'], timeoutSeconds: 10, network: 'None' as const } };
const stubborn = "echo x > calc.py; trap '' TERM; (trap '' TERM; sleep 613) & while :; do sleep 613; done";
const noEnd = { wallSeconds: 8 } as AgentTaskSpec['budget'];

/** Behaviours that need no isolation, and no model. */
export const manners: readonly Manner[] = [
  { row: null, what: 'solves it by its goal, which keeps templates in it', script: `test "$1" = 'Make add add {''{key}}.' && ${repairs}`, ends: succeeded },
  { row: null, what: 'reads the goal from its standard input', script: `grep -q 'Make add add' && ${repairs}`, harness: { input: 'Stdin' }, ends: succeeded },
  { row: null, what: 'solves it in the second run, by what was handed back', script: `if grep -q 'earlier run' /tmp/agentfleet/goal.md; then ${repairs}; else echo '# looked' >> calc.py; fi`, ends: succeeded },
  { row: 'forks into the background', what: 'leaves a process in the background', script: `sleep 611 & ${repairs}`, ends: succeeded },
  { row: 'prints 100 MB', what: 'prints 100 MB', script: `head -c 100000000 /dev/zero | tr '\\0' 'x'; ${repairs}`, ends: succeeded },
  { row: 'is missing, cannot be installed', what: 'is missing', script: '', harness: { command: ['no-such-agent', '{{goal}}'] }, ends: failed('HarnessMissing', 'InvalidInput'), says: /no-such-agent cannot be started.*harness\.install/s },
  { row: 'is missing, cannot be installed', what: 'cannot be installed', script: repairs, harness: installFails, ends: failed('HarnessMissing', 'InvalidInput'), says: /correct harness\.install/ },
  { row: 'wants a terminal', what: 'wants a terminal', script: "echo 'stdin is not a terminal' >&2; exit 1", ends: failed('HarnessTerminalNeeded', 'InvalidInput'), says: /the flag by which/ },
  { row: 'wants a login', what: 'wants a login', script: "echo 'Please log in: open https://login.example in your browser'; exit 1", ends: failed('HarnessLoginNeeded', 'InvalidInput'), says: /\{\{key\}\}/ },
  { row: 'wants a login', what: 'waits for a login', script: "echo x > calc.py; echo 'Please log in: open https://login.example'; sleep 612", harness: { stallSeconds: 2 }, ends: failed('HarnessLoginNeeded', 'InvalidInput'), says: /\{\{key\}\}/ },
  { row: 'does nothing, ignores stop', what: 'does nothing, and ignores stop', script: stubborn, harness: { stallSeconds: 2 }, ends: failed('HarnessStalled', 'Stuck'), says: /for 2 s.*raise harness\.stallSeconds/s },
  { row: 'fails, changes nothing', what: 'fails and changes nothing', script: 'echo no model; exit 3', ends: failed('HarnessFailed', 'Stuck'), says: /exit status 3.*no model/s },
  { row: 'fails, changes nothing', what: 'ends and changes nothing', script: 'echo done', ends: failed('HarnessNoChange', 'Stuck'), says: /clearer goal/ },
  { row: 'edits tests', what: 'edits tests', script: "echo 'import unittest' > test_calc.py", ends: failed('HarnessRefused', 'PolicyViolation'), says: /test_calc\.py/ },
  { row: 'never gets it right', what: 'gets it wrong in each run', script: "echo '# looked' >> calc.py", ends: failed('StillFails', 'CheckFailed'), says: /after 2 runs of the agent program: .*still failing/s },
  { row: 'spends its budget', what: 'works on when its time is spent', script: 'echo x > calc.py; while :; do echo .; sleep 1; done', spec: { budget: noEnd }, ends: failed('WallSecondsExceeded', 'BudgetExceeded'), says: /spec\.budget/ },
]; // prettier-ignore

/** A program in Python that runs `first`, and then writes its model's answer into a file. */
export const pythonAgent = (first: string): string => `import json, os, sys, urllib.request
${first}
body = json.dumps({'model': 'any', 'messages': [{'role': 'user', 'content': sys.argv[1]}]}).encode()
headers = {'authorization': 'Bearer ' + os.environ['OPENAI_API_KEY'], 'content-type': 'application/json'}
request = urllib.request.Request(os.environ['OPENAI_BASE_URL'] + '/chat/completions', body, headers)
answer = json.load(urllib.request.urlopen(request, timeout=60))['choices'][0]['message']['content']
open(sys.argv[2], 'w').write(answer)
`;

/** Calls its vendor, which is refused, and continues. */
const asksVendor = `try:
    urllib.request.urlopen('https://api.vendor.example/v1', timeout=20)
except Exception as error:
    print('vendor:', error, flush=True)`;

/** Behaviours that meet isolation: they run in a pod, with a model. `script` runs before the request to the model. */
export interface Walled extends Omit<Manner, 'harness' | 'spec'> {
  /** File for the model's answer. */
  readonly file: string;
  readonly vendor?: string;
}

export const walled: readonly Walled[] = [
  { row: 'asks for its vendor', what: 'asks for its vendor, and solves it by its model', script: asksVendor, file: 'calc.py', vendor: 'api.vendor.example', ends: succeeded },
  { row: 'writes outside of the workspace', what: 'writes its home folder', script: '', file: '/home/agent/left.py', ends: failed('HarnessRefused', 'PolicyViolation'), says: /left\.py/ },
  { row: 'writes outside of the workspace', what: 'writes outside of all roots', script: '', file: '/etc/left.py', ends: failed('HarnessFailed', 'Stuck'), says: /Permission denied|Read-only/ },
  { row: 'downloads a model', what: 'downloads a model', script: "urllib.request.urlopen('https://models.example/weights.bin', timeout=20)", file: 'calc.py', vendor: 'models.example', ends: failed('HarnessFailed', 'Stuck'), says: /refused models\.example:443 \(NotListed\).*spec\.policy\.network\.hosts/s },
  { row: 'leaks its key', what: 'leaks its key', script: "print('my key is', os.environ['OPENAI_API_KEY'], flush=True); open('leaked', 'w').write(os.environ['OPENAI_API_KEY'])", file: 'calc.py', ends: succeeded },
]; // prettier-ignore
