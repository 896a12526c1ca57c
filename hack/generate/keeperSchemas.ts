import * as keeper from '@agentfleet/protocol/keeper';

/** JSON Schemas of the keeper's request bodies and queries, for clients in other languages. */
export function keeperSchemas(): string {
  const { ExecRequest, SnapshotRequest, RangeQuery, FileQuery, ReplaceRequest, PatchRequest, TreeQuery, NoteRequest, ErrorBody } = keeper;
  const { AstEditRequest, LinesQuery, ListQuery, OutputQuery, SearchQuery, SecretsRequest } = keeper;
  const { SessionRequest, SessionRunRequest, StdinQuery, TerminalSize, WaitQuery } = keeper;
  const live = { StdinQuery, TerminalSize, WaitQuery, SessionRequest, SessionRunRequest };
  const files = { FileQuery, LinesQuery, ListQuery, SearchQuery, ReplaceRequest, AstEditRequest, PatchRequest, TreeQuery };
  const schemas = { ExecRequest, OutputQuery, ...live, SnapshotRequest, RangeQuery, ...files, SecretsRequest, NoteRequest, ErrorBody };
  return `${JSON.stringify({ $comment: 'Made by `npm run generate` from protocol/src/keeper.', schemas }, null, 2)}\n`;
}
