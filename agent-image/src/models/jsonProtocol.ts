import type { ConversationMessage, ToolCall, ToolDefinition } from '@agentfleet/protocol/chat';
import { fieldsOf, textOf } from '@agentfleet/protocol/text';
import { jsonIn } from '../base/text.ts';
import { fenced } from './fence.ts';
import type { ModelProposal } from './models.ts';

/** Characters of a thought; a small model that is held to the schema would fill its whole answer with one. */
const thoughtLength = 400;

/** Output of a model without tool calls: one object. */
interface Act {
  readonly thought: string;
  readonly tool: string;
  readonly arguments: string;
}

/**
 * The part of the system message that explains how tools are called by a model that has no tool calls. Equal for equal tools,
 * so that the prefix of the conversation stays.
 */
export function jsonInstructions(tools: readonly ToolDefinition[]): string {
  const listed = tools.map(({ name, description, parameters }) => `- ${name}: ${description}\n  arguments: ${JSON.stringify(parameters)}`);
  return `How to call a tool
Each of your replies is exactly one JSON object and nothing else, no text before or after it:
{"thought": "one or two sentences", "tool": "name of the tool", "arguments": {…}}
It calls one tool. Its result comes in the next message, between two lines that mark it as data. Inside strings write line ends as \\n and quotes as \\".

Tools
${listed.join('\n')}`;
}

/** `response_format` that holds a server to the protocol, where it can. */
export function jsonFormat(tools: readonly ToolDefinition[]): Readonly<Record<string, unknown>> {
  const acts = tools.map(({ name, parameters }) => ({
    type: 'object',
    properties: { thought: { type: 'string', maxLength: thoughtLength }, tool: { const: name }, arguments: parameters },
    required: ['thought', 'tool', 'arguments'],
    additionalProperties: false,
  }));
  return { type: 'json_schema', json_schema: { name: 'act', schema: acts.length === 1 ? acts[0] : { anyOf: acts } } };
}

/** Returns the conversation for such a model: its calls become text, observations become messages to it. */
export function jsonConversation(
  messages: readonly ConversationMessage[],
  tools: readonly ToolDefinition[],
): readonly ConversationMessage[] {
  return messages.map((message): ConversationMessage => {
    if (message.role === 'System') return { ...message, text: `${message.text}\n\n${jsonInstructions(tools)}` };
    if (message.role === 'Tool') return { role: 'User', origin: 'Notice', text: fenced(`result of ${message.name}`, message.text) };
    if (message.role !== 'Assistant') return message;
    const text = message.calls.length === 0 ? message.text : message.calls.map((call) => written(message.text, call)).join('\n');
    return { role: 'Assistant', text, calls: [] };
  });
}

function written(thought: string, { name, arguments: text }: ToolCall): string {
  return JSON.stringify({ thought, tool: name, arguments: jsonIn(text) ?? text });
}

/**
 * Parses the proposal of such a model. Tolerates common deviations from the protocol: blocks of code, text around the
 * object, `name` for `tool`, arguments in a string. Without an object that names a tool it is a reply without a call.
 */
export function jsonProposal(proposal: ModelProposal, callId: string): ModelProposal {
  if (proposal.calls.length > 0) return proposal;
  const act = actOf(proposal.text);
  if (act === null) return proposal;
  const finish = proposal.finish === 'Stop' ? 'Calls' : proposal.finish;
  return { ...proposal, text: act.thought, finish, calls: [{ id: callId, name: act.tool, arguments: act.arguments }] };
}

function actOf(text: string): Act | null {
  // Text of a model's reasoning may hold drafts of an object.
  const said = text.replace(/^[\s\S]*<\/think(?:ing)?>/, '').trim();
  for (const candidate of candidates(said)) {
    const act = actIn(jsonIn(candidate.text));
    if (act !== null) return { ...act, thought: act.thought === '' ? candidate.before.trim() : act.thought };
  }
  return null;
}

interface Candidate {
  readonly text: string;
  readonly before: string;
}

/** The whole text, then each block of code, then each object in it, in this order. */
function* candidates(text: string): Generator<Candidate> {
  yield { text, before: '' };
  for (const block of text.matchAll(/```[a-z]*\s*\n?([\s\S]*?)```/gi)) yield { text: block[1] ?? '', before: text.slice(0, block.index) };
  for (const at of objectStarts(text)) {
    const end = objectEnd(text, at);
    if (end !== null) yield { text: text.slice(at, end), before: text.slice(0, at) };
  }
}

/** Most places where an object may begin: a text of braces costs no more. */
const mostStarts = 32;

function* objectStarts(text: string): Generator<number> {
  let at = text.indexOf('{');
  for (let count = 0; at >= 0 && count < mostStarts; count += 1) {
    yield at;
    at = text.indexOf('{', at + 1);
  }
}

/** Returns the index after the object that begins at `start`; null when it does not end. */
function objectEnd(text: string, start: number): number | null {
  let depth = 0;
  let quoted = false;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (quoted) {
      if (character === '\\') at += 1;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = true;
    else if (character === '{') depth += 1;
    else if (character === '}' && --depth === 0) return at + 1;
  }
  return null;
}

function actIn(given: unknown): Act | null {
  const value = fieldsOf(given);
  const named = value['tool_call'] ?? value['function'] ?? value['action'];
  const inner = fieldsOf(named);
  if (Object.keys(inner).length > 0) return actIn({ thought: value['thought'], ...inner });
  const tool = textOf(value['tool'] ?? value['name'] ?? value['tool_name'] ?? named);
  if (tool === '') return null;
  const args = value['arguments'] ?? value['args'] ?? value['parameters'] ?? value['input'] ?? {};
  return { thought: textOf(value['thought']), tool, arguments: typeof args === 'string' ? args : JSON.stringify(args) };
}
