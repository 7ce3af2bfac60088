import type { Actor } from '../api/flags.ts'

/** Display name of the author of a change. */
export const actorName = ({ name, user, id, kind }: Actor): string => name ?? user ?? id?.slice(0, 8) ?? kind
