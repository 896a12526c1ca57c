// protocol, chat: messages of a stored conversation, tool calls and token usage. Imports nothing of other folders.

/** A call of a tool in a conversation. `arguments` is what the model wrote, which may be no JSON. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** Tokens of one request; `estimated` where the provider reported none, or a crash lost its answer. */
export interface TokenUsage {
  readonly input: number;
  /** Of `input`, read from a cache of the provider. */
  readonly cachedInput: number;
  readonly output: number;
  readonly estimated: boolean;
}

/** Source of a message of the role User. */
export type UserOrigin = 'Goal' | 'Notice' | 'Person' | 'Summary';

/**
 * One message of a stored conversation. It is ours and of no provider: `providerState` keeps what a provider wants back
 * unchanged, opaque to all but the gateway.
 */
export type ConversationMessage =
  | { readonly role: 'System'; readonly text: string }
  | { readonly role: 'User'; readonly origin: UserOrigin; readonly text: string }
  | {
      readonly role: 'Assistant';
      readonly text: string;
      readonly calls: readonly ToolCall[];
      readonly providerState?: unknown;
    }
  | { readonly role: 'Tool'; readonly callId: string; readonly name: string; readonly text: string };

/** Version of the tools' names and schemas; raised by every change that a recorded conversation would notice. */
export const toolsVersion = 1;

/** Effect that a call may have on the world, the mildest first. */
export type ToolRisk =
  /** Reads, and changes nothing. */
  | 'Read'
  /** Changes the conversation or the plan only. */
  | 'Control'
  /** Writes files of the workspace. */
  | 'Edit'
  /** Runs a command. */
  | 'Execute';

/** A tool as a model sees it: the one source of its name, description and JSON schema. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly risk: ToolRisk;
}
