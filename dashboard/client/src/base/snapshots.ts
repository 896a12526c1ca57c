/** What changed between one snapshot and the next, as the conversation has it. Pure. */
import { fieldsOf, gistOf, listOf, textOf, type Turn } from './talk.ts';

/** A text of a file that another took the place of; without `before` the file is new. */
export interface Edit {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

/** What was done since the snapshot before. */
export interface Since {
  /** The snapshot before it; undefined for the first. */
  readonly from: string | undefined;
  readonly edits: readonly Edit[];
  /** Commands that ran: what they changed is in no record but their output. */
  readonly commands: readonly string[];
}

function editOf(given: string): readonly Edit[] {
  try {
    const { path, old_text: before, new_text: after } = fieldsOf(JSON.parse(given));
    return textOf(path) === '' ? [] : [{ path: textOf(path), before: textOf(before), after: textOf(after) }];
  } catch {
    return [];
  }
}

const changing = new Set(['bash', 'edit_file', 'shell']);

/** By the seq of each snapshot's record. */
export function changesBySnapshot(turns: readonly Turn[]): ReadonlyMap<number, Since> {
  const found = new Map<number, Since>();
  const seqs = new Map<string, number>();
  let from: string | undefined;
  let edits: Edit[] = [];
  let commands: string[] = [];
  const begin = (id: string): void => {
    from = id;
    edits = [];
    commands = [];
  };
  for (const turn of turns) {
    if (turn.type === 'Assistant') {
      for (const { name, arguments: given, observation } of turn.done) {
        // What was refused, or not run, did nothing; a command that failed may have changed files before it did.
        if (!changing.has(name) || observation?.refused !== undefined || observation?.notRun === true) continue;
        if (name !== 'edit_file') commands.push(gistOf({ arguments: given }));
        else if (observation?.ok === true) edits.push(...editOf(given));
      }
    } else if (turn.type === 'Snapshot') {
      found.set(turn.seq, { from, edits, commands });
      seqs.set(turn.id, turn.seq);
      begin(turn.id);
    } else if (turn.type === 'Restored') begin(turn.id);
    else if (turn.type === 'Note' && turn.kind === 'Accepted') {
      // A search notes what it took after the snapshot that holds it.
      const own = listOf(turn.data['edits'])
        .map(fieldsOf)
        .map(({ path, before, after }) => ({ path: textOf(path), before: textOf(before), after: textOf(after) }));
      const at = seqs.get(textOf(turn.data['snapshot']));
      const held = at === undefined ? undefined : found.get(at);
      if (at === undefined || held === undefined) edits.push(...own);
      else found.set(at, { ...held, edits: [...held.edits, ...own] });
    }
  }
  return found;
}
