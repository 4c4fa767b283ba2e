export type { ArchiveCache, ArchivedFile, ArchiveStore, WorkFolder } from './archive-store.ts';
export { type DayRange, isNameOfFile, mayHaveDays, nameOfFile } from './file-names.ts';
export { openFolderStore, workFolder } from './folder-store.ts';
