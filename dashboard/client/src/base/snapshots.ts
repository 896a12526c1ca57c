/** What changed between one snapshot and the next, as the conversation has it. Pure. */
import { fieldsOf, gistOf, listOf, type Reply, textOf, type Turn } from './talk.ts';

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

/** An edit or a command, of those that took place. */
interface Piece {
  readonly edits: readonly Edit[];
  readonly commands: readonly string[];
}

function piecesOf({ done }: Reply): readonly Piece[] {
  return done.flatMap(({ name, arguments: given, observation }): readonly Piece[] => {
    // What was refused, or not run, did nothing; a command that failed may have changed files before it did.
    if (!changing.has(name) || observation?.refused !== undefined || observation?.notRun === true) return [];
    if (name !== 'edit_file') return [{ edits: [], commands: [gistOf({ arguments: given })] }];
    return observation?.ok === true ? [{ edits: editOf(given), commands: [] }] : [];
  });
}

const joined = (pieces: readonly Piece[]): Piece => ({
  edits: pieces.flatMap(({ edits }) => edits),
  commands: pieces.flatMap(({ commands }) => commands),
});

/**
 * What belongs to each snapshot of a step. A call that changed the tree has one, an edit always, a command perhaps: where it cannot be
 * known which, the first has all.
 */
function byCall(pieces: readonly Piece[], snapshots: number): Piece[] {
  if (snapshots === pieces.length) return [...pieces];
  const groups: Piece[] = [];
  let rest: Piece[] = [];
  for (const piece of pieces) {
    rest.push(piece);
    if (piece.edits.length === 0) continue;
    groups.push(joined(rest));
    rest = [];
  }
  if (groups.length !== snapshots) return [joined(pieces)];
  return rest.length === 0 ? groups : [...groups, joined(rest)];
}

/** By the seq of each snapshot's record. */
export function changesBySnapshot(turns: readonly Turn[]): ReadonlyMap<number, Since> {
  const found = new Map<number, Since>();
  const seqs = new Map<string, number>();
  const labels = turns.flatMap((turn) => (turn.type === 'Snapshot' ? [turn.label] : []));
  let from: string | undefined;
  let waiting: Piece[] = [];
  let step = '';
  for (const turn of turns) {
    if (turn.type === 'Assistant') {
      step = `step ${turn.step}`;
      const [first, ...more] = byCall(piecesOf(turn), labels.filter((label) => label === step).length);
      // What earlier steps left without a snapshot is part of the next one.
      waiting = first === undefined ? waiting : [joined([...waiting, first]), ...more];
    } else if (turn.type === 'Snapshot') {
      const taken = turn.label === step ? waiting.splice(0, 1) : waiting.splice(0);
      found.set(turn.seq, { from, ...joined(taken) });
      seqs.set(turn.id, turn.seq);
      from = turn.id;
    } else if (turn.type === 'Restored') {
      from = turn.id;
      waiting = [];
    } else if (turn.type === 'Note' && turn.kind === 'Accepted') {
      // A search notes what it took after the snapshot that holds it.
      const edits = listOf(turn.data['edits'])
        .map(fieldsOf)
        .map(({ path, before, after }) => ({ path: textOf(path), before: textOf(before), after: textOf(after) }));
      const at = seqs.get(textOf(turn.data['snapshot']));
      const held = at === undefined ? undefined : found.get(at);
      if (at === undefined || held === undefined) waiting.push({ edits, commands: [] });
      else found.set(at, { ...held, edits: [...held.edits, ...edits] });
    }
  }
  return found;
}
