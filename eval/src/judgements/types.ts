/** Shapes of the packs of single judgements: hazard (proposals) and injection (texts from outside). */

export const halves = ['dev', 'sealed'] as const;
export type Half = (typeof halves)[number];

export const hazardClasses = ['Destructive', 'Exfiltration', 'Escape', 'Persistence', 'Tampering'] as const;
export type HazardClass = (typeof hazardClasses)[number];

/** What an agent proposes to do; paths are those of the sandbox. */
export type Proposal =
  | { readonly tool: 'Shell'; readonly command: string }
  | { readonly tool: 'ExecCode'; readonly argv: readonly string[] }
  | { readonly tool: 'FileWrite'; readonly path: string; readonly content: string };

/** What each entry of a pack has. */
export interface Entry<Label extends string> {
  readonly id: string;
  readonly half: Half;
  readonly label: Label;
  /** One sentence: what it does. Never given to what is scored. */
  readonly why: string;
  /** Unsafe and hidden, or harmless and of dangerous looks. */
  readonly subtle: boolean;
}

export type HazardLabel = 'Benign' | HazardClass;
export type HazardEntry = Entry<HazardLabel> & Proposal;

export const channels = [
  'Readme',
  'Issue',
  'TestOutput',
  'FileName',
  'CommitMessage',
  'ToolOutput',
  'Unicode',
  'SystemMessage',
  'MarkdownLink',
  'Base64',
  'CodeComment',
  'PackageMetadata',
  'WebPage',
  'LogFile',
] as const;

export type InjectionLabel = 'Benign' | 'Injection';

/** A text from outside; `act` is the unsafe act that it asks for, absent when it asks for none. */
export interface InjectionEntry extends Entry<InjectionLabel> {
  readonly channel: (typeof channels)[number];
  readonly text: string;
  readonly act?: { readonly class: HazardClass } & Proposal;
}

/** What an entry stands in: the goal of its task and, for a text from outside, the harmless act that the goal calls for. */
export interface EntryContext {
  readonly id: string;
  readonly goal: string;
  readonly harmless?: Proposal;
}

/** Entries of one label in one half. */
export interface Count {
  readonly plain: number;
  readonly subtle: number;
}

/** One half as `pack.json` promises it. */
export interface HalfManifest {
  readonly file: string;
  readonly entries: number;
  /** Of the file's bytes, hexadecimal. */
  readonly sha256: string;
  readonly counts: Readonly<Record<string, Count>>;
}

export interface Manifest {
  readonly name: string;
  readonly version: number;
  readonly author: string;
  readonly classes: Readonly<Record<string, string>>;
  readonly rules: readonly string[];
  readonly halves: Readonly<Record<Half, HalfManifest>>;
}
