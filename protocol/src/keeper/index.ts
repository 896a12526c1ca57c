/**
 * The keeper's HTTP API, version 1: JSON, and NDJSON for streams.
 *
 * Every request but `/healthz`, `/readyz` and `/metrics` carries `Authorization: Bearer <token>`;
 * every one that changes something also `AgentFleet-Epoch: <integer>`.
 *
 * | Request | Answer |
 * |---|---|
 * | `GET /v1/info` | {@link KeeperInfo} |
 * | `POST /v1/exec` | NDJSON of {@link ExecEvent} |
 * | `GET /v1/exec/:execId?from=SEQ` | the same stream from SEQ on |
 * | `GET /v1/exec/:execId/output?stream=` | bytes of {@link ExecEnd.spill} |
 * | `GET /v1/exec/:execId/wait?seconds=` | {@link ExecWaited} |
 * | `POST /v1/exec/:execId/stdin?seq=&eof=` | {@link StdinTaken}; bytes for a command with `stdinMode: "Open"` or a pty |
 * | `POST /v1/exec/:execId/resize` | 202; body {@link TerminalSize} |
 * | `POST /v1/exec/:execId/interrupt` | 202; SIGINT to what runs |
 * | `POST`, `GET /v1/sessions` | {@link SessionInfo}; a list of them |
 * | `POST /v1/sessions/:sessionId/run` | NDJSON of {@link ExecEvent}; `/v1/exec/:execId` works for it too |
 * | `DELETE /v1/sessions/:sessionId` | 202; no process of the session is left |
 * | `DELETE /v1/exec/:execId` | 202; the command's `end` has `killed: "Cancelled"` |
 * | `GET`, `PUT /v1/files?path=` | bytes; {@link FileWritten} |
 * | `GET /v1/files/lines?path=&from=&to=` | {@link FileLines} |
 * | `GET /v1/files/list?path=` | {@link FileList} |
 * | `GET /v1/files/search?path=&text=` | {@link SearchResult} |
 * | `POST /v1/files/replace` | {@link FileReplaced}; one text for another, which must stand there once |
 * | `POST /v1/files/ast-edit` | {@link AstEditReport}; a structural search and replace in one file |
 * | `POST /v1/files/patch` | {@link PatchReport}; a unified diff over several files, whole or not at all |
 * | `PUT /v1/tree?path=` | a tar stream is unpacked below the folder; {@link TreeWritten} |
 * | `GET /v1/tree?path=` | a tar stream of all that is below the folder; {@link treeHeaders} |
 * | `PUT /v1/secrets` | {@link SecretsDeclared}; values that no answer shows |
 * | `POST /v1/scrub` | {@link ScrubReport}; every object of the store is read and checked |
 * | `POST /v1/notes` | {@link NoteWritten}; the worker's decision in the event log |
 * | `POST`, `GET /v1/snapshots` | {@link SnapshotRecord}; a list of them |
 * | `POST /v1/snapshots/:id/restore` | {@link RestoreReport} |
 * | `GET /v1/snapshots/:id/manifest` | the canonical text of its manifest, whose SHA-256 is its digest |
 * | `POST /v1/objects` | the named {@link Part}s of contents |
 * | `POST`, `DELETE /v1/adoption` | begins, or gives up, to take over log and snapshots of another keeper; only while this one knows nothing |
 * | `PUT /v1/adoption/log`, `/v1/adoption/objects`, `/v1/adoption/manifests/:id` | NDJSON of its log; {@link Part}s; canonical text |
 * | `POST /v1/adoption/commit` | {@link Adopted}; all or nothing |
 * | `GET /v1/diff?from=&to=` | {@link TreeDiff} |
 * | `GET /v1/revert?from=&to=` | tar: `revert.sh`, `redo.sh`, `description.json`, `objects/` |
 * | `GET /v1/events?from=SEQ` | NDJSON of {@link AuditRecord} |
 * | `GET /v1/audit` | {@link AuditReport} |
 * | `GET /v1/spans` | spans of traces, each once: the keeper itself may reach no receiver |
 * | `POST /v1/tools/restart` | 202; the kubelet starts a fresh tools container |
 * | `POST /mcp` | the Model Context Protocol, see {@link mcpTools} |
 * | `POST /v1/egress`, upgraded | 101; a tunnel for one connection out of the sandbox, see {@link egressUpgrade} |
 *
 * What is read by a model is read without secrets: `redaction` in a request, see {@link Redaction}.
 *
 * May import `environment`, and nothing else of the project.
 */
export * from './audit.ts';
export * from './durable.ts';
export * from './egress.ts';
export * from './errors.ts';
export * from './exec.ts';
export * from './files.ts';
export * from './info.ts';
export * from './manifest.ts';
export * from './mcp.ts';
export * from './effects.ts';
export * from './notes.ts';
export * from './places.ts';
export * from './sessions.ts';
export * from './redaction.ts';
export * from './snapshots.ts';
export * from './syntax.ts';

/** Header that carries the assignment's epoch, a positive integer. */
export const epochHeader = 'agentfleet-epoch';
