import type { Actor } from '../api/flags.ts'

/** How who changed something is called. */
export const actorName = ({ name, user, id, kind }: Actor): string => name ?? user ?? id?.slice(0, 8) ?? kind
