import type { CredentialRule } from '../route/statements.ts'
import type { Settings } from '../services/settings.ts'

/** For each credential rule, true if a request without a credential is admitted (api.md §3.2). */
export const openness = ({ required, exclude }: Settings): Readonly<Record<CredentialRule, boolean>> => ({
  always: false,
  bearer: false,
  welcome: true,
  required: !required,
  management: !required || exclude.management,
  evaluation: !required || exclude.evaluation,
  ofrep: !required || exclude.ofrep,
})
