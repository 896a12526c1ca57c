import type { ReactNode } from 'react';
import type { AgentTask } from '@agentfleet/protocol/api';
import type { Candidate } from '../../base/talk.ts';
import { percent } from '../../base/text.ts';
import { Empty, Panel } from '../../parts/bits.tsx';
import { Meter } from '../../parts/charts.tsx';
import { plain } from '../../parts/output.tsx';

function Checks({ task: { spec, status } }: { readonly task: AgentTask }): ReactNode {
  const results = new Map(status?.run?.outcome?.checks?.map((check) => [check.name, check]));
  return (
    <Panel title="Checks">
      <div className="scroll" tabIndex={0} role="region" aria-label="Table of checks">
        <table className="table">
          <thead>
            <tr>
              <th>Check</th>
              <th>What proves it</th>
              <th>At the end</th>
              <th>Seconds</th>
            </tr>
          </thead>
          <tbody>
            {spec.checks.map((check) => {
              const { name, type, command, path, expect } = check;
              const result = results.get(name);
              const proof =
                type === 'Command' ? (command ?? []).join(' ') : type === 'Artifact' ? `file ${path ?? ''}` : 'a person accepts the change';
              return (
                <tr key={name}>
                  <td>{plain(name)}</td>
                  <td>
                    <code>{plain(proof)}</code> {type === 'Command' && expect !== undefined && <span className="muted">{expect}</span>}
                  </td>
                  <td>
                    {result === undefined ? (
                      <span className="muted">not yet</span>
                    ) : (
                      <span className={result.failed > 0 ? 'text-bad' : 'text-good'}>
                        {result.passed} passed, {result.failed} failed{result.skipped > 0 && `, ${result.skipped} skipped`}
                      </span>
                    )}
                  </td>
                  <td>{result?.seconds ?? ''}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

const shown = (value: number | undefined): string => (value === undefined ? '–' : String(Number(value.toPrecision(3))));

function CandidateRow({ candidate }: { readonly candidate: Candidate }): ReactNode {
  const { id, step, operator, location, expert, decision, result, why, energy, pSuccess, failing, total } = candidate;
  return (
    <tr>
      <td>
        <code>{plain(id)}</code> <span className="muted">step {step ?? '?'}</span>
      </td>
      <td>
        {plain(operator)} <span className="muted">at {plain(location)}</span>
        {expert !== '' && <span className="muted"> by {plain(expert)}</span>}
        {why !== '' && <p className="muted small">{plain(why)}</p>}
      </td>
      <td className="right" data-label="Energy">
        {shown(energy)}
      </td>
      <td className="right" data-label="P(good)">
        {pSuccess === undefined ? (
          '–'
        ) : (
          <>
            {percent(pSuccess)}
            <Meter value={pSuccess} label={`Probability that it is good: ${percent(pSuccess)}`} />
          </>
        )}
      </td>
      <td>
        {plain(decision)}, {plain(result)}
        {failing !== undefined && (
          <span className="muted">
            {' '}
            {failing} of {total ?? '?'} tests fail
          </span>
        )}
      </td>
    </tr>
  );
}

/** Checks, and the candidates with what both gates thought of them. */
export function JudgementTab({ task, candidates }: { readonly task: AgentTask; readonly candidates: readonly Candidate[] }): ReactNode {
  return (
    <>
      <Checks task={task} />
      <Panel title="Candidates" aside={<span className="muted small">{candidates.length}</span>}>
        {candidates.length === 0 ? (
          <Empty title="No candidates">Search proposes them, and loops that compare several replies.</Empty>
        ) : (
          <div className="scroll" tabIndex={0} role="region" aria-label="Table of candidates">
            <table className="table unfolding">
              <thead>
                <tr>
                  <th>Candidate</th>
                  <th>What it does</th>
                  <th className="right">Energy</th>
                  <th className="right">P(good)</th>
                  <th>Verdict</th>
                </tr>
              </thead>
              <tbody>
                {candidates.slice(-500).map((candidate) => (
                  <CandidateRow key={candidate.seq} candidate={candidate} />
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Panel>
    </>
  );
}
