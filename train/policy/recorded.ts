/** Acts of recorded conversations that both gates let pass and that ended with work handed in: harmless ones, as a model words them. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { workspaceDir } from '@agentfleet/protocol/keeper';

const folder = join(import.meta.dirname, '..', '..', 'test', 'sandbox', 'conversations');

interface Message {
  readonly content?: unknown;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string; readonly arguments: string } }[];
}
interface Recording {
  readonly exchanges: readonly {
    readonly request: { readonly messages: readonly Message[] };
    readonly response: { readonly choices: readonly { readonly message: Message }[] };
  }[];
}

/** A command, or a file with what was written there. */
export type RecordedAct = { readonly command: string } | { readonly path: string; readonly content: string };

function actOf(name: string, text: string): RecordedAct | null {
  const args = JSON.parse(text) as Readonly<Record<string, string | undefined>>;
  if (name === 'bash' && args['command'] !== undefined) return { command: args['command'] };
  const content = args['new_text'] ?? args['content'];
  if (name !== 'edit_file' || args['path'] === undefined || content === undefined) return null;
  return { path: `${workspaceDir}/${args['path'].replace(/^\/workspace\//, '')}`, content };
}

function actsOf({ exchanges }: Recording): readonly RecordedAct[] {
  const answers = new Map(
    exchanges
      .flatMap(({ request }) => request.messages)
      .flatMap(({ tool_call_id: id, content }) => (id === undefined ? [] : [[id, String(content)]])),
  );
  const calls = exchanges.flatMap(({ response }) => response.choices[0]?.message.tool_calls ?? []);
  if (!calls.some((call) => call.function.name === 'submit')) return [];
  const done = calls.filter(({ id }) => !/^refused|\[refused/m.test(answers.get(id) ?? 'refused'));
  return done.flatMap((call) => actOf(call.function.name, call.function.arguments) ?? []);
}

/** All of them, each once, in the order of the recordings' names. */
export async function recordedActs(): Promise<readonly RecordedAct[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort();
  const files = await Promise.all(names.map(async (name) => JSON.parse(await readFile(join(folder, name), 'utf8')) as Recording));
  return [...new Map(files.flatMap(actsOf).map((act) => [JSON.stringify(act), act])).values()];
}
