# A project in this folder, the library where the page has it.
export HOME=$PWD/home
mkdir -p "$HOME/opt"
ln -s "$PREFIX" "$HOME/opt/surrogate"
printf 'cmake_minimum_required(VERSION 3.25)\nproject(solver LANGUAGES C)\nfind_package(surrogate 0.2 REQUIRED)\n' >CMakeLists.txt
@block@
