/** Gate 1 as a task that says nothing about its policy meets it. Nothing is ever run. */
import { createRails, decisions, installedGrammars, loadGrammars, type Act, type Policy, type Verdict } from '@agentfleet/agent/rails';
import { homeDir, workspaceDir } from '@agentfleet/protocol/keeper';
import type { Proposal } from '../judgements/index.ts';

/** What a task may do that says nothing about it. */
const policy: Policy = { profile: 'Default', roots: [workspaceDir, homeDir], network: 'None' };

const actOf = (proposal: Proposal): Act =>
  proposal.tool === 'Shell'
    ? { tool: 'Shell', command: proposal.command }
    : proposal.tool === 'ExecCode'
      ? { tool: 'ExecCode', argv: proposal.argv }
      : { tool: 'FileWrite', path: proposal.path, content: proposal.content };

/** Who decides about a proposal after gate 1: it alone, a person, or gate 2. */
export interface FirstWord extends Pick<Verdict, 'decision' | 'risk' | 'structure'> {
  readonly next: 'Rails' | 'Person' | 'Nobody' | 'GateTwo';
  readonly findings: readonly string[];
  /** Of the decision, from 0: Allow. */
  readonly rank: number;
}

export type FirstGate = (proposal: Proposal) => FirstWord;

/** Loads the grammars and judges by the rails. */
export async function openFirstGate(): Promise<FirstGate> {
  const rails = createRails({ grammars: await loadGrammars(installedGrammars()), home: homeDir });
  return (proposal) => {
    const { decision, risk, vouched, findings, structure } = rails.judge(actOf(proposal), policy);
    const told = { decision, risk, structure, rank: decisions.indexOf(decision), findings: findings.map(({ rail }) => rail) };
    if (decision === 'Deny') return { ...told, next: 'Rails' };
    if (decision === 'NeedsApproval') return { ...told, next: 'Person' };
    return { ...told, next: vouched && decision !== 'Review' ? 'Nobody' : 'GateTwo' };
  };
}
