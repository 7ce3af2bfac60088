/** Receives messages of long work for the user. */
export type Say = (line: string) => void
/** Progress of long work, with the number of its units that are done, and of all. */
export type Progress = { readonly name: string; readonly done: number; readonly total: number }
export type OnProgress = (progress: Progress) => void
