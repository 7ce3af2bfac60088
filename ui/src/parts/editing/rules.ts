import { fields } from '../../words/common.ts'

const lengthOf = (text: string): number => [...text].length

/** Validation error of a text that is too long, by its field. */
export const tooLong = <F extends string>(field: F, text: string, most: number): Partial<Record<F, string>> => {
  const has = text.length > most ? lengthOf(text) : 0
  return has > most ? ({ [field]: fields.tooLong(most, has) } as Record<F, string>) : {}
}

const percent = /^(?:100(?:\.0{1,2})?|\d{1,2}(?:\.\d{1,2})?)$/

/** Whether a text is a number from 0 to 100 with at most two decimals. */
export const isPercentage = (text: string): boolean => percent.test(text.trim())
