/** Scenarios: what a task is offered, what people answer, and what its event log must tell in the end. */

/** What an expert proposes; each becomes one candidate that acts. */
export interface ProposalFile {
  /** Command lines, one after the other. */
  readonly commands?: readonly string[];
  /** What the pack says is right. */
  readonly solution?: true;
  /** Number of a wrong solution of the pack, from 0. */
  readonly decoy?: number;
}

export interface ExpectedTrial {
  /** As the note of the candidate says; Worse stands for Equal too: it came to nothing. */
  readonly result: 'Reached' | 'Better' | 'Worse' | 'Denied';
  /** A regular expression about why. */
  readonly why?: string;
}

export interface Expected {
  /** One for each candidate that was tried, in this order. */
  readonly tried: readonly ExpectedTrial[];
  /** Reason of the outcome. */
  readonly outcome: string;
  /** The verdict that nobody saw; NotJudged where the attempt gave nothing to judge. */
  readonly hidden: 'Passed' | 'Failed' | 'NotJudged';
  /** What people were asked and said, in this order. */
  readonly decided?: readonly ('Approved' | 'Rejected')[];
  /** The tree is that of snapshot 0 again, by hash and by comparison. */
  readonly rolledBack?: true;
  /** Content by path when the attempt has ended; null: it is not there. */
  readonly left?: Readonly<Record<string, string | null>>;
}

export interface Scenario {
  readonly name: string;
  /** The sentence that asks for it. */
  readonly says: string;
  /** `<family>/<task>` of the pack. */
  readonly task: string;
  readonly proposals: readonly ProposalFile[];
  /** What a person has to allow, and what that person says. */
  readonly approvals?: { readonly require: readonly ('Destructive' | 'External')[]; readonly says: 'Approved' | 'Rejected' };
  /** Ordered when the attempt has ended. */
  readonly rollback?: 'Initial';
  readonly expect: Expected;
}

/** What the event log and the tree told. */
export interface Observed {
  readonly outcome: string;
  readonly message: string;
  readonly hidden: Expected['hidden'];
  readonly tried: readonly { readonly result: string; readonly why: string; readonly commands: readonly string[] }[];
  readonly decided: readonly string[];
  /** Command lines that the sandbox ran. */
  readonly ran: readonly string[];
  /** Of a rollback: whether it was verified, and what differs from snapshot 0 after it. */
  readonly rolledBack: { readonly verified: boolean; readonly differs: readonly string[] } | null;
  readonly left: Readonly<Record<string, string | null>>;
  /** Whether the chain of the log holds. */
  readonly chain: boolean;
}
