/**
 * The results API: what its server, workers, `fleet` and the dashboard agree on. `docs/reference/results.md` describes it.
 * May import the layers right of `results` in docs/architecture.md.
 */
export {
  artifactPlace,
  type ArtifactItem,
  type ArtifactList,
  conversationStreamMs,
  copiedArtifacts,
  copyName,
  maxCopyBytes,
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
