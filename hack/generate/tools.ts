import { commandSeconds, toolDefinitions, toolsVersion, type ToolDefinition } from '@agentfleet/protocol/chat';

interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/** Condition under which a model lacks a tool; all others are always present. */
const leftOut: Readonly<Record<string, string>> = {
  bash: 'where the image has no `/bin/sh`',
  ask_human: 'without `spec.policy.approvals`',
  fetch: 'unless `spec.policy.network.mode` is `Allowed`',
  propose_repairs: 'in pools without a `Synth` expert of the role Generalist or Specialist',
};

/** Estimates the tokens of the tools in a request as a quarter of its characters. */
function toolTokens(): number {
  const sent = toolDefinitions.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }));
  return Math.ceil(sent.reduce((sum, one) => sum + JSON.stringify(one).length, 0) / 4);
}

/** Returns the tools of models behind a chat API as a Markdown page. */
export function toolsPage(): string {
  return [
    '<!-- Made by `npm run generate` from protocol/src/chat/definitions.ts. -->',
    '# Tools of the agent',
    '',
    ...wrapped(
      `What a model behind a chat API can do in a task, version ${toolsVersion}. All descriptions together cost about ${toolTokens()} tokens of each request, which prompt caches keep. Calls of the risks Edit and Execute pass both gates before anything is done, and what a command leaves is judged after it; a refusal is an answer that the model goes on from. A command is run once, whoever takes the task over.`,
    ),
    '',
    ...wrapped(
      `Commands have ${commandSeconds.default} s by default and ${commandSeconds.max} s at most, unless \`spec.tools.timeouts\` of the pool sets another bound. \`spec.tools.deny\` of pool and task leaves tools out. Answers are plain text: output, then a line in brackets with how it ended. What is too long is cut in the middle and kept under a handle that \`read_file\` takes. Secrets are shown as \`[REDACTED:Kind]\`.`,
    ),
    '',
    ...wrapped(
      'A process in the background runs beside other calls and may write no file, so that snapshots stay exact; at most four run, an hour each, and none when another worker takes over. Sandboxes with the snapshot engine `Overlay` keep none.',
    ),
    ...toolDefinitions.flatMap(section),
    '',
    '## Tools of MCP servers',
    '',
    ...wrapped(
      'A task that names servers in `spec.tools.mcpServers` has their tools too, after these, as `<server>__<tool>`. They are listed once, when the conversation begins, and stay the same for every worker: at most 32 of a server and 64 of all, with descriptions of 1024 characters, schemas of 8 KiB and 64 KiB in all; a tool that does not fit is left out, and a notice says so. Names have letters, digits, `-` and `_`, and 64 characters with that of the server.',
    ),
    '',
    ...wrapped(
      'Whatever a server says of a tool, a call has the risk Execute: it passes both gates as an effect outside of the sandbox, stands in the event log before it is sent, and is never sent again by another worker that does not know its end; `spec.policy.approvals` with `External` asks a person. Only where the pool says `readOnly: true` it has the risk Read. An error, a broken connection or no answer in time is an observation with the cause, and whether the call may have been carried out.',
    ),
    '',
  ].join('\n');
}

function section({ name, description, parameters, risk }: ToolDefinition): readonly string[] {
  const { properties = {}, required = [] } = parameters as Schema;
  const fields = Object.entries(properties).map(
    ([field, schema]) => `- \`${field}\`${required.includes(field) ? '' : '?'}: ${described(schema)}`,
  );
  const missing = leftOut[name] === undefined ? '' : ` Left out ${leftOut[name]}.`;
  const words = wrapped(`${description} Risk: ${risk}.${missing}`);
  return ['', `## ${name}`, '', ...words, ...(fields.length > 0 ? ['', ...fields] : [])];
}

/** Lines of at most 130 characters. */
function wrapped(text: string): readonly string[] {
  return text.match(/.{1,130}(?:\s|$)/g)?.map((line) => line.trimEnd()) ?? [];
}

function described({ type = '', description, minimum, maximum, items, enum: values }: Schema): string {
  const range = minimum === undefined || maximum === undefined || maximum >= 999_999 ? '' : ` from ${minimum} to ${maximum}`;
  const of = items === undefined ? '' : ` of ${itemsOf(items)}`;
  const choices = values === undefined ? '' : ` (${values.join(', ')})`;
  return `${type}${range}${of}${choices}${description === undefined ? '' : `; ${description}`}`;
}

function itemsOf({ type = '', properties }: Schema): string {
  if (properties === undefined) return type;
  return `objects with ${Object.entries(properties)
    .map(([name, { enum: values }]) => `\`${name}\`${values === undefined ? '' : ` (${values.join(', ')})`}`)
    .join(' and ')}`;
}
