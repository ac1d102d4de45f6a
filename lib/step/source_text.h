// Text of statements, and names that are free, for steps that write code.
#pragma once
#include "step/step.h"

namespace klineage {

/// The whole statement in the file: with its semicolon, and with the pragma that belongs to it.
Result<Unit::Place> wholeStatement(const Unit &unit, const clang::Stmt *statement);

/// From the first statement to the last one, both whole.
Result<Unit::Place> wholeStatements(const Unit &unit, const clang::Stmt *first, const clang::Stmt *last);

/// Widens the place to its whole line when nothing else stands there, so that removing it leaves no empty line.
void takeLine(const Unit &unit, Unit::Place &place);

/// The text that stands there.
std::string textAt(const Unit &unit, const Unit::Place &place);

/// A name that occurs nowhere in the sources: `base`, else base2, base3, ... The names in `taken` are avoided and the result is added.
std::string freshName(const Unit &unit, const std::string &base, std::set<std::string> &taken);

/// Every reference to a declaration under the statement, in source order.
std::vector<const clang::DeclRefExpr *> referencesTo(const clang::Stmt *root, const clang::ValueDecl *decl);

/// Removes the definition of a helper, with its template head and the comment lines directly above it.
Result<Edit> removeFunction(const Unit &unit, const clang::FunctionDecl *function);

} // namespace klineage
