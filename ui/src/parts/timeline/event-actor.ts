import type { HistoryEvent } from '../../api/history.ts'
import { eventWords } from '../../words/history.ts'
import { actorName } from '../actor.ts'

/** Display name of the actor of an event. */
export const actorOf = ({ actor }: HistoryEvent): string => {
  const name = actorName(actor)
  return name === actor.kind ? (eventWords.actorKinds[name] ?? name) : name
}
