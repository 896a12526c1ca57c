// protocol, chat: type of a tool definition, tool risks and the version of the tools. Imports nothing of other folders.

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
