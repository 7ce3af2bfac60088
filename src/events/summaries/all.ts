import type { catalog } from '../catalog.ts'
import { accessSummaries, historySummaries, instanceSummaries, keysSummaries } from './deployment.ts'
import { flagSummaries } from './flag.ts'
import { loginSummaries, logoutSummaries } from './login.ts'
import { namespaceSummaries } from './namespace.ts'
import { refusalSummaries } from './refusal.ts'
import { segmentSummaries } from './segment.ts'
import type { Summaries } from './sentence.ts'
import { tokenSummaries } from './token.ts'

/** Summaries of all events, by category and type. */
export const summaries: { readonly [C in keyof typeof catalog]: Summaries<(typeof catalog)[C]> } = {
  token: tokenSummaries,
  login: { ...loginSummaries, ...logoutSummaries },
  refusal: refusalSummaries,
  namespace: namespaceSummaries,
  flag: flagSummaries,
  segment: segmentSummaries,
  keys: keysSummaries,
  history: historySummaries,
  access: accessSummaries,
  instance: instanceSummaries,
}
