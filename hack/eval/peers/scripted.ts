// Handwritten answers: the same work for each agent, by calls of its own tools.
import type { ChatCompletion, ChatRequest, WireToolCall } from '@agentfleet/protocol/chat';
import { estimatedTokens, type Answer, type Model } from './endpoint.ts';
import type { ScriptStep, TaskScript } from './scripts.ts';

/** Agent whose tools are called. */
export type Agent = 'agentfleet' | 'mini-swe-agent';

interface Call {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** The call of each agent for a step. */
const calls: Readonly<Record<Agent, (step: ScriptStep) => Call>> = {
  agentfleet: (step) => {
    switch (step.kind) {
      case 'look':
        return { name: 'bash', arguments: { command: step.command } };
      case 'read':
        return { name: 'read_file', arguments: { path: step.path } };
      case 'edit':
        return { name: 'edit_file', arguments: { path: step.path, old_text: step.before, new_text: step.after } };
      case 'command':
        return { name: 'bash', arguments: { command: step.command } };
      case 'check':
        return { name: 'run_checks', arguments: {} };
      case 'submit':
        break;
    }
    return { name: 'submit', arguments: { answer: 'Done; the checks pass.' } };
  },
  'mini-swe-agent': (step) => ({ name: 'bash', arguments: { command: bashOf(step) } }),
};

function bashOf(step: ScriptStep): string {
  switch (step.kind) {
    case 'read':
      return `cat ${step.path}`;
    case 'edit':
      return `python3 - <<'EDIT'\nfrom pathlib import Path\nfile = Path(${pythonText(step.path)})\ntext = file.read_text()\nbefore = ${pythonText(step.before)}\nassert text.count(before) == 1\nfile.write_text(text.replace(before, ${pythonText(step.after)}))\nEDIT`;
    case 'submit':
      return 'echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT';
    case 'look':
    case 'check':
    case 'command':
      break;
  }
  return step.command;
}

/** JSON's texts are texts of Python too. */
const pythonText = (value: string): string => JSON.stringify(value);

/** The next step of a conversation: as many replies of the model as it holds were given before. Pure. */
export function replyOf({ steps }: TaskScript, agent: Agent, { messages, tools = [] }: ChatRequest): Answer {
  const at = messages.filter(({ role }) => role === 'assistant').length;
  const step = steps[at];
  if (step === undefined) return { status: 400, body: { error: { message: `the script has ${steps.length} steps`, type: 'script' } } };
  const { name, arguments: given } = calls[agent](step);
  const call: WireToolCall = { id: `call_${at}`, type: 'function', function: { name, arguments: JSON.stringify(given) } };
  const message = { role: 'assistant' as const, content: step.says, tool_calls: [call] };
  const [prompt, completion] = [estimatedTokens({ messages, tools }), estimatedTokens(message)];
  const body: ChatCompletion & { readonly object: string } = {
    id: `scripted-${at}`,
    object: 'chat.completion',
    model: 'scripted',
    choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
    usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
  };
  return { status: 200, body };
}

/** A model that follows a script. */
export const scriptedModel =
  (script: TaskScript, agent: Agent): Model =>
  (request) =>
    Promise.resolve(replyOf(script, agent, request));
