import { fields } from '../words/common.ts'

/** What is wrong with a text that is too long, under the name of its field; characters are Unicode code points. */
export const tooLong = <F extends string>(field: F, text: string, most: number): Partial<Record<F, string>> => {
  const has = [...text].length
  return has > most ? ({ [field]: fields.tooLong(most, has) } as Record<F, string>) : {}
}
