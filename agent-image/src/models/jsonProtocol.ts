import type { ConversationMessage, ToolCall, ToolDefinition } from '@agentfleet/protocol/chat';
import { jsonIn } from '../base/text.ts';
import { brief } from './convert.ts';
import { fenced } from './fence.ts';

/** Characters of a thought; a small model that is held to the schema would fill its whole answer with one. */
const thoughtLength = 400;

/**
 * The part of the system message that explains how tools are called by a model that has no tool calls. Equal for equal tools,
 * so that the prefix of the conversation stays.
 */
export function jsonInstructions(tools: readonly ToolDefinition[]): string {
  const listed = tools.map(
    ({ name, description, parameters }) => `- ${name}: ${description}\n  arguments: ${JSON.stringify(brief(parameters))}`,
  );
  return `How to call a tool
Each of your replies is exactly one JSON object and nothing else, no text before or after it:
{"thought": "one or two sentences", "tool": "name of the tool", "arguments": {…}}
It calls one tool, also where several calls are spoken of; what to say before a call is its thought. Its result comes in the next message, between two lines that mark it as data. Inside strings write line ends as \\n and quotes as \\".

Tools
${listed.join('\n')}`;
}

/** Text behind a reply without a call. */
const theForm =
  'The reply has to be one JSON object and nothing else: {"thought": "why", "tool": "name of the tool", "arguments": {…}}. Calls in any other form are not run.';

const isIdle = (message: ConversationMessage | undefined): boolean => message?.role === 'Assistant' && message.calls.length === 0;

/** `response_format` that holds a server to the protocol, where it can. */
export function jsonFormat(tools: readonly ToolDefinition[]): Readonly<Record<string, unknown>> {
  const acts = tools.map(({ name, parameters }) => ({
    type: 'object',
    properties: { thought: { type: 'string', maxLength: thoughtLength }, tool: { const: name }, arguments: bounded(parameters) },
    required: ['thought', 'tool', 'arguments'],
    additionalProperties: false,
  }));
  return { type: 'json_schema', json_schema: { name: 'act', schema: acts.length === 1 ? acts[0] : { anyOf: acts } } };
}

/** A grammar of it ends an object after the known fields. */
function bounded(parameters: ToolDefinition['parameters']): Readonly<Record<string, unknown>> {
  return { ...brief(parameters), ...(parameters['additionalProperties'] === false && { additionalProperties: false }) };
}

/** Returns the conversation for such a model: its calls become text, observations become messages to it. */
export function jsonConversation(
  messages: readonly ConversationMessage[],
  tools: readonly ToolDefinition[],
): readonly ConversationMessage[] {
  return messages.map((message, at): ConversationMessage => {
    // A model that began with calls of its own form gets to know of this one where it stopped calling.
    if (message.role === 'User') return isIdle(messages[at - 1]) ? { ...message, text: `${message.text} ${theForm}` } : message;
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
