/** Results that a task leaves behind: its change, its artifacts and event log, and the object itself. */
import { dump } from 'js-yaml';
import type { ReactNode } from 'react';
import type { AgentTask } from '@agentfleet/protocol/api';
import type { AuditState } from '../../../../src/base/wire.ts';
import { get, taskPath } from '../../base/api.ts';
import { useLoad } from '../../base/hooks.ts';
import { bytes } from '../../base/text.ts';
import { Empty, Panel, Trouble } from '../../parts/bits.tsx';
import { DiffView } from '../../parts/diffView.tsx';
import { Output, plain } from '../../parts/output.tsx';

/** Shows the change of the task: the stored diff, or the beginning of it that the status holds. */
export function ChangeTab({ task: { metadata, status } }: { readonly task: AgentTask }): ReactNode {
  const { namespace = '', name } = metadata;
  const stored = status?.run?.artifacts?.find((artifact) => artifact.name === 'change.patch');
  const path = taskPath(namespace, name, '/text/change.patch');
  const { value, error } = useLoad(
    stored === undefined ? '' : path,
    (signal) => (stored === undefined ? Promise.resolve(undefined) : get<{ readonly text: string }>(path, signal)),
    stored?.sha256 ?? '',
  );
  const patch = value?.text ?? status?.run?.patch;
  const trouble = error === undefined ? null : <Trouble what="The stored change cannot be read:" error={error} />;
  if (patch === undefined)
    return (
      trouble ?? (
        <Empty title={stored === undefined ? 'No change yet' : 'Reading the change …'}>
          {stored === undefined && 'It is shown from the first edit on.'}
        </Empty>
      )
    );
  return (
    <>
      {trouble}
      <DiffView patch={patch} cut={value === undefined} />
    </>
  );
}

/** Shows whether the event log is whole: its chain of hashes, and its head against the status. */
function Audit({ path, root }: { readonly path: string; readonly root: string | undefined }): ReactNode {
  const { value, error, again } = useLoad<AuditState>(path, (signal) => get(path, signal), root ?? '');
  if (error !== undefined) return <Trouble what="The event log cannot be checked:" error={error} />;
  if (value === undefined) return <p className="muted">Checking every record …</p>;
  const { ok, records, head, faults, behindRoot } = value;
  return (
    <>
      <p className={ok ? 'text-good' : 'text-bad'}>
        <strong>
          {ok ? `Whole: ${records.toLocaleString('en')} records, each fits the hash of the one before` : 'Not what was written'}
        </strong>
      </p>
      <ul className="plain-list">
        {faults.map((fault) => (
          <li key={fault}>{plain(fault)}</li>
        ))}
      </ul>
      {behindRoot > 0 && <p className="muted">It ends {behindRoot} records after the head that the status reports.</p>}
      <dl>
        <div className="fact">
          <dt>Head</dt>
          <dd>
            <code>{head}</code>
          </dd>
        </div>
      </dl>
      <button type="button" className="link" onClick={again}>
        Check again
      </button>
    </>
  );
}

export function ArtifactsTab({ task: { metadata, status } }: { readonly task: AgentTask }): ReactNode {
  const { namespace = '', name } = metadata;
  const artifacts = status?.run?.artifacts ?? [];
  return (
    <>
      <Panel title="Artifacts">
        {artifacts.length === 0 ? (
          <Empty title="Nothing stored yet">They are stored when an attempt ends.</Empty>
        ) : (
          <div className="scroll" tabIndex={0} role="region" aria-label="Table of artifacts">
            <table className="table">
              <thead>
                <tr>
                  <th>Name</th>
                  <th className="right">Size</th>
                  <th>SHA-256</th>
                </tr>
              </thead>
              <tbody>
                {artifacts.map((artifact) => (
                  <tr key={artifact.name}>
                    <td>
                      <a href={taskPath(namespace, name, `/artifacts/${encodeURIComponent(artifact.name)}`)} download={artifact.name}>
                        {plain(artifact.name)}
                      </a>
                    </td>
                    <td className="right">{bytes(artifact.bytes)}</td>
                    <td>
                      <code className="muted">{artifact.sha256.slice(0, 16)}…</code>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Panel>
      <Panel
        title="Event log"
        aside={
          <a href={taskPath(namespace, name, '/log')} download={`${name}.ndjson`}>
            Download
          </a>
        }
      >
        <Audit path={taskPath(namespace, name, '/audit')} root={status?.run?.auditRoot} />
      </Panel>
    </>
  );
}

/** The object as the API server has it, without what only machines read. */
export function ObjectTab({ task, notes }: { readonly task: AgentTask; readonly notes: readonly string[] }): ReactNode {
  const { managedFields: _, ...metadata } = task.metadata as AgentTask['metadata'] & { readonly managedFields?: unknown };
  return (
    <>
      {notes.map((note) => (
        <p key={note} className="notice wait">
          {note}
        </p>
      ))}
      <Output text={dump({ ...task, metadata }, { lineWidth: 120, noRefs: true })} limit={200_000} />
    </>
  );
}
