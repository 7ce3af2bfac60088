import type { Authentication } from '../../src/contract/token.ts'
import { shell } from './words/shell.ts'

/** A value of a record's metadata by the end of its name: deployments choose what stands in front. */
export const metadataOf = ({ metadata }: Pick<Authentication, 'metadata'>, name: string): string | undefined =>
  Object.entries(metadata).find(([key]) => key === name || key.endsWith(`.${name}`))?.[1]

/** How a person, a program or nobody is called. */
export const identityOf = (record: Authentication | undefined): string => {
  if (!record) return shell.nobody
  const given = (name: string) => metadataOf(record, name)
  const known =
    record.method === 'METHOD_TOKEN'
      ? given('token.name')
      : (given('name') ?? given('email') ?? given('preferred_username'))
  return known !== undefined && known !== '' ? known : record.id.slice(0, 8)
}

const holders: Readonly<Record<string, readonly string[]>> = {
  METHOD_TOKEN: ['token.name'],
  METHOD_OIDC: ['oidc.provider', 'oidc.sub'],
  METHOD_CODEHOST: ['codehost.sub'],
  METHOD_ORCHESTRATOR: ['orchestrator.namespace', 'orchestrator.serviceaccount.name'],
}

/** Whom a record stands for, the same for each of a person's sessions; it is compared, and never shown. */
export const holderOf = (record: Authentication | undefined): string => {
  if (!record) return ''
  const parts = (holders[record.method] ?? []).map((name) => metadataOf(record, name))
  return JSON.stringify([record.method, ...(parts.includes(undefined) ? [record.id] : parts)])
}
