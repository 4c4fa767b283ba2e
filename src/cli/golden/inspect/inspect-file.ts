import { inspectGolden } from '../../../golden/index.ts';
import type { Story } from './story.ts';
import { tellStory } from './tell-story.ts';

/**
 * Reads a golden as a story; one that was edited or has expired comes with its problems.
 * @throws ObservatoryError `GOLDEN_UNREADABLE`, `GOLDEN_TOO_NEW`.
 */
export async function inspectFile(file: string | URL): Promise<Story> {
  const { golden, problems } = await inspectGolden(file);
  return tellStory(golden, problems);
}
