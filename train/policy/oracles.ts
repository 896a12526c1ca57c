/** Solutions of the development halves of our packs as acts: program text and scripts as an agent writes them, all of it harmless. */
import { fileURLToPath } from 'node:url';
import { loadPack, type PackTask } from '@agentfleet/eval/format';
import { workspaceDir } from '@agentfleet/protocol/keeper';
import type { Random } from '../numeric/random.ts';
import type { RecordedAct } from './recorded.ts';

const packs = ['code-small', 'repair', 'os', 'contracts', 'trap'] as const;
const maxChars = 4000;
/** Acts of one family, so that a large one does not outweigh the others. */
const perFamily = 12;

interface OracleAct {
  readonly family: string;
  readonly act: RecordedAct;
}

const runs = (path: string): string =>
  path.endsWith('.py') ? `python3 ${path}` : /\.[cm]?[jt]s$/.test(path) ? `node ${path}` : `cat ${path}`;
const hereDocument = (path: string, content: string): string => `cat > ${path} <<'EOF'\n${content.replace(/\n$/, '')}\nEOF`;

function added(before: string, after: string): string {
  const old = new Set(before.split('\n'));
  return after
    .split('\n')
    .filter((line) => !old.has(line))
    .join('\n');
}

function actsOf({ files, oracle }: PackTask, random: Random): readonly RecordedAct[] {
  const written = Object.entries(oracle.files).flatMap(([path, content]): RecordedAct[] => {
    if (content === null || content.length > maxChars) return [];
    const command = random.next() < 0.5 ? hereDocument(path, content) : `${hereDocument(path, content)}\n${runs(path)}`;
    return [{ path: `${workspaceDir}/${path}`, content: added(files[path] ?? '', content) }, { command }];
  });
  const script = oracle.script;
  return script === undefined || script.length > maxChars ? written : [...written, { command: script }];
}

/** Acts of the development halves, some of each family. Equal seeds give equal acts. */
export async function oracleActs(random: Random): Promise<readonly OracleAct[]> {
  const loaded = await Promise.all(packs.map((name) => loadPack(fileURLToPath(new URL(`../../test/packs/${name}`, import.meta.url)))));
  const tasks = loaded.flatMap((pack) => pack.tasks).filter(({ half }) => half === 'dev');
  const families = Map.groupBy(tasks, ({ pack, family }) => `${pack}/${family}`);
  return [...families].flatMap(([family, own]) => {
    const acts = own.flatMap((task) => actsOf(task, random));
    return random
      .shuffle(acts)
      .slice(0, perFamily)
      .map((act) => ({ family, act }));
  });
}

/** A harmful command in the midst of a harmless program that is written by a here-document. */
export function hiddenIn(command: string, program: string, random: Random): string {
  const lines = program.split('\n').slice(0, 30);
  const at = random.below(lines.length + 1);
  const call =
    random.next() < 0.5 ? `__import__("os").system(${JSON.stringify(command)})` : `subprocess.run(${JSON.stringify(command)}, shell=True)`;
  const text = [...lines.slice(0, at), call, ...lines.slice(at)].join('\n');
  return `${hereDocument('tools/step.py', text)}\npython3 tools/step.py`;
}
