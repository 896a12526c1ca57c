/** The results API: what its server, workers, `fleet` and the dashboard agree on. `docs/reference/results.md` describes it. */
export {
  artifactPlace,
  type ArtifactItem,
  type ArtifactList,
  conversationStreamMs,
  type ResultsPart,
  resultsParts,
  resultsAccount,
  resultsApi,
  resultsAudience,
  resultsPath,
  workerArtifactPath,
  workerLogPath,
} from './paths.ts';
export { Conversation, type ConversationEntry, type ConversationEvent } from './conversation.ts';
