/** What a slot's name tells. */
export interface SlotName {
  readonly node: string;
  /** Name of the board. */
  readonly board: string;
  readonly number: number;
  /** Of a MIG slice: its profile, as names can have it, and which one of the board's slices of this profile it is. */
  readonly slice: { readonly profile: string; readonly index: number } | undefined;
}

/** Profiles as `nvidia-smi mig -lgip` lists them: `2g.10gb`, `1c.3g.20gb`, `1g.5gb+me`. */
const profilePattern = /^([1-9]c\.)?[1-9]\d?g\.[1-9]\d{0,3}gb([-+][a-z][a-z.]{0,14}[a-z])?$/;

/** More slices of one profile never get a name on one board. */
const mostSlices = 100;

/** A profile as names of slots and of objects can have it, which know no `+`; undefined: it is none. */
export function profileName(profile: string): string | undefined {
  return profilePattern.test(profile) ? profile.replace('+', '-') : undefined;
}

/** Reads `<node>/gpu<n>` or `<node>/gpu<n>-<profile>-<i>`; undefined: it is no name of a slot. */
export function parseSlotName(slot: string): SlotName | undefined {
  const match = /^([^/]+)\/gpu(\d{1,3})(?:-(.+)-(\d{1,2}))?$/.exec(slot);
  if (match === null) return undefined;
  const [, node = '', number = '', profile, index = ''] = match;
  const slice = profile === undefined ? undefined : { profile, index: Number(index) };
  if (profile !== undefined && profileName(profile) === undefined) return undefined;
  return { node, board: `${node}/gpu${number}`, number: Number(number), slice };
}

/** The node of a slot. */
export function nodeOfSlot(slot: string): string {
  return slot.slice(0, slot.lastIndexOf('/'));
}

/** The next free name of a board of the node. */
export function nextBoard(node: string, names: ReadonlySet<string>): string {
  let number = 0;
  while (names.has(`${node}/gpu${number}`)) number += 1;
  return `${node}/gpu${number}`;
}

/** The next free name of a slice of the board; undefined: there are too many. */
export function nextSlice(board: string, profile: string, names: ReadonlySet<string>): string | undefined {
  for (let index = 0; index < mostSlices; index += 1) {
    const name = `${board}-${profile}-${index}`;
    if (!names.has(name)) return name;
  }
  return undefined;
}

/** Order of slots: by node, board, profile and number. */
export function bySlotName(a: string, b: string): number {
  const [first, second] = [orderOf(a), orderOf(b)];
  return first < second ? -1 : first > second ? 1 : 0;
}

function orderOf(slot: string): string {
  const { node, number, slice } = parseSlotName(slot) ?? { node: nodeOfSlot(slot), number: 0, slice: undefined };
  const digits = (value: number): string => String(value).padStart(4, '0');
  return `${node} ${digits(number)}${slice === undefined ? '' : ` ${slice.profile} ${digits(slice.index)}`}`;
}
